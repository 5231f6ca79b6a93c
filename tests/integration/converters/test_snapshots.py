"""Copied rows go through the converters as those of the log do."""

import json
from typing import Any

from commitlog import EventFormat, Schema, SnapshotEncoder
from tests.support.converters.comparison import WithSchema, is_same
from tests.support.converters.connect import Connect
from tests.support.node.snapshot_rows import DDL, TABLE_ID, encode, integer, long, row


def copied(encoding: Any) -> list[tuple[bytes, bytes]]:
    """Key and value of a copied row."""
    event_format = EventFormat(
        topic_prefix="x", cluster="c", node_id="n", key=encoding, value=encoding
    )
    made = SnapshotEncoder(
        Schema.from_cql(DDL), TABLE_ID, event_format, element_times=True, started_us=1
    )
    batch = encode([row(1, 2, v=(integer(5), long(1000), None))], made)
    return [(key, value or b"") for _, key, value, _, _ in batch.messages(0, len(batch))]


def test_connect_reads_copied_rows() -> None:
    ((key, value),) = copied("json_with_schema")
    ((plain_key, plain_value),) = copied("json")
    with Connect() as connect:
        for ours, plain in ((key, plain_key), (value, plain_value)):
            (theirs,) = connect.rewritten([ours], "json")
            message, read = WithSchema.of(ours), WithSchema.of(theirs)
            payload = json.loads(message.payload)
            assert message.schema == read.schema
            assert is_same(message.parsed_schema, payload, json.loads(read.payload))
            assert {**payload, "ts_ms": 0} == {**json.loads(plain), "ts_ms": 0}
        (text,) = connect.rewritten([key], "string")
    assert json.loads(plain_value)["source"]["snapshot"] == "true"
    assert copied("string")[0][0] == text == b"Struct{k=1,c=2}"
