"""Debezium's own MongoDB connector as a peer: its records against those of `mongo_agent.encoder`.

`engines` runs it embedded, `workload` gives both sides something to read, `ours` is what the
encoder makes of the same change streams, `comparison` says when two records are equal.
"""
