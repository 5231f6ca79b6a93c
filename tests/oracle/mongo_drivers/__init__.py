"""Test suites of MongoDB drivers, run against the project's test server (`make mongo-conformance`).

`cases` fetches the tests of a driver by its package client and runs them, `suites` lists their
parts and compares the outcomes with `pymongo.toml` and `go.toml`, `page` starts
`tests.support.mongodb.server` for each and writes `docs/evidence/mongodb-conformance.md`.
"""
