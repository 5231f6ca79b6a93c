"""Debezium's connector for Cassandra as a peer: its events of the same segments, beside ours.

`cases` has the statements, `recording` what is kept of a run, `run` makes one on real servers,
`comparison` says what is equal, `differences` lists the cases in which the peer is wrong and
`document` writes docs/reference/debezium-differences.md. `make peer` compares live.
"""
