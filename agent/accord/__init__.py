"""Experimental: captures Accord transactions, which Cassandra 6.0 omits from its commit log.

The node writes transactions to the Accord journal. The agent decodes journal entries and writes
the changes to `cdc_raw` as segments. It then processes these segments like the node's own.
"""
