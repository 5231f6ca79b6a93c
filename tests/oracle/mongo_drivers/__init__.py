"""Test suites of MongoDB drivers, run against the project's test server (`make mongo-conformance`).

`pymongo_cases` and `go_cases` fetch the tests of a driver by its package client and run them,
`suites` lists their parts, `run` starts `tests.support.mongodb.server` for each, `expectations`
compares the outcomes with `pymongo.toml` and `go.toml`, `page` writes
`docs/evidence/mongodb-conformance.md`.
"""
