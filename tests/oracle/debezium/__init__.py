"""Debezium's connector for Cassandra as a peer: its events of the same segments against ours.

`cases` contains the statements, `recording` the stored results of a run, `run` runs real servers,
`comparison` defines equality, `differences` lists the cases in which the peer is wrong and
`document` writes docs/reference/debezium-differences.md. `make peer` compares live.
"""
