"""`make fixtures`: records the project's own segments from real nodes, from scratch.

`tests/fixtures/<release>/<scenario>/` holds the segments byte for byte (`.log.gz`), their index
files as the node left them, `schema.cql`, the statements in order, and what Cassandra's own reader
says of the segments (`dump.ndjson.gz`, docs/reference/dump-format.md). The quickstart's `cdc_raw`
and the peer's events are recorded the same way.
"""
