"""Debezium's own MongoDB connector as a peer: its records against those of `mongo_agent.encoder`.

`engines` runs it embedded, `workload` writes the input of both sides, `ours` encodes the same
change streams, `comparison` defines the equality of two records.
"""
