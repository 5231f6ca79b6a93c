"""The algebra of `tests.oracle.algebra` held against a second opinion, recordings and real nodes.

`oracle` is a plain port of Cassandra's own questions, `typed` reads raw rows as the driver does,
`comparison` holds them against `SELECT *`.
"""
