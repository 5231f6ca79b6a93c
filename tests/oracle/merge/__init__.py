"""Tests of `tests.oracle.algebra` with a second implementation, recordings and real nodes.

`second_opinion` is a port of Cassandra's own code, `typed` decodes raw rows as the driver does, and
`comparison` compares them with `SELECT *`.
"""
