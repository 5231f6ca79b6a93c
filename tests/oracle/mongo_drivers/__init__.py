"""Test suites of MongoDB drivers, run against the project's test server (`make mongo-conformance`).

`sources` fetches a suite by its package client, `suites` lists its files, `run` runs them against
`tests.support.mongo_server`, `expectations` compares the outcomes with `pymongo.toml`, `page`
writes `docs/evidence/mongodb-conformance.md`.
"""
