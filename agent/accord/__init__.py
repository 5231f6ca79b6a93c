"""Experimental capture of Accord's transactions, which Cassandra 6.0 keeps out of its commit log.

The node writes them to its journal. The agent decodes the journal's entries and writes the changes
as segments into `cdc_raw`, where they are read, delivered and removed as the node's own segments.
"""
