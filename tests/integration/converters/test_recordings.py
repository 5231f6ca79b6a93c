"""Every event of the recordings with values of every type, read by Connect's converter."""

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from commitlog import EventFormat, Schema, SnapshotEncoder
from tests.oracle.reference.recordings import Scenario
from tests.support.avro.encodings import MODES, Encoding, cases, in_both, is_of_types
from tests.support.converters.comparison import WithSchema, is_same
from tests.support.converters.connect import Connect, Decimals
from tests.support.node.snapshot_rows import DDL, TABLE_ID, encode, integer, long, row

DIGITS: Encoding = {"key_decimals": "numeric", "value_decimals": "numeric"}
EXACT: Encoding = {"decimal": "precise", "varint": "precise", **DIGITS}
# Number of events from each recording that does not test types.
_SOME = 100
_LOST = (b'"NaN"', b'Infinity"', b":-0.0,", b":-0.0}", b"[-0.0", b",-0.0")


@pytest.fixture(scope="module")
def connect() -> Iterator[Connect]:
    with Connect() as running:
        yield running


@pytest.mark.parametrize(("scenario", "modes"), cases(*MODES, EXACT, {"layout": "debezium-1.x"}))
def test_connect_reads_every_message(
    scenario: Scenario, modes: Encoding, tmp_path: Path, connect: Connect
) -> None:
    pairs = in_both(scenario, modes, None, tmp_path, encoding="json_with_schema")
    found = list(pairs if is_of_types(scenario) else islice(pairs, _SOME))
    decimals: Decimals = "NUMERIC" if "key_decimals" in modes else "BASE64"
    for part in ("key", "value"):
        ours = [getattr(message, part) for message, _ in found]
        written = connect.rewritten(ours, "json", decimals)
        for (message, plain), theirs in zip(found, written, strict=True):
            check(getattr(message, part), getattr(plain, part), theirs)
            assert (message.topic, message.headers) == (plain.topic, plain.headers)


def check(ours: bytes, plain: bytes, theirs: bytes) -> None:
    """Connect writes an identical schema, byte for byte, and the payload equals the plain JSON."""
    message, read = WithSchema.of(ours), WithSchema.of(theirs)
    assert message.schema == read.schema
    payload, expected = json.loads(message.payload), json.loads(plain)
    for each in (payload, expected):
        each.pop("ts_ms", None)
    assert payload == expected
    whole = json.loads(message.payload)
    assert is_same(message.parsed_schema, whole, json.loads(read.payload))


@pytest.mark.parametrize(("scenario", "modes"), cases({}, *MODES, all_events=()))
def test_string_events_equal_those_of_the_string_converter(
    scenario: Scenario, modes: Encoding, tmp_path: Path, connect: Connect
) -> None:
    """Java receives bytes as base64 strings. Maps of several entries have no order there; NaN,
    infinity and negative zero become zero."""
    compared = 0
    pairs = zip(
        in_both(scenario, modes, None, tmp_path, encoding="string"),
        in_both(scenario, {**modes, **DIGITS}, None, tmp_path, encoding="json_with_schema"),
        strict=True,
    )
    for (text, _), (schema, plain) in islice(pairs, 1000):
        for part in ("key", "value"):
            message = WithSchema.of(getattr(schema, part))
            if any(lost in message.payload for lost in _LOST):
                continue
            if has_large_map(message.parsed_schema, json.loads(message.payload)):
                continue
            shown = with_strings(message)
            (expected,) = connect.rewritten([shown], "string", "NUMERIC")
            ours = getattr(text, part).decode()
            assert without_clock(ours) == without_clock(expected.decode())
            compared += 1
        assert (text.topic, text.headers) == (plain.topic, plain.headers)
    assert compared > 100


def without_clock(text: str) -> str:
    """Text without the leading `ts_ms`, which is the clock of the reader."""
    return text.partition(",op=")[2] if text.startswith("Struct{ts_ms=") else text


def with_strings(message: WithSchema) -> bytes:
    """Bytes as strings, as in JSON."""
    schema = message.schema.replace('"type":"bytes","optional"', '"type":"string","optional"')
    # A decimal remains a decimal.
    decimal = '"optional":true,"name":"org.apache.kafka.connect.data.Decimal"'
    schema = schema.replace(f'"type":"string",{decimal}', f'"type":"bytes",{decimal}')
    payload = message.payload.decode()
    return f'{{"schema":{schema},"payload":{payload}}}'.encode()


def has_large_map(schema: dict[str, Any], value: Any) -> bool:
    """Whether a value contains a map of several entries."""
    if value is None:
        return False
    match schema["type"]:
        case "struct":
            return any(has_large_map(f, value.get(f["field"])) for f in schema["fields"])
        case "array":
            return any(has_large_map(schema["items"], each) for each in value)
        case "map":
            pairs = list(value.items()) if isinstance(value, dict) else value
            return len(pairs) > 1 or any(
                has_large_map(schema["keys"], key) or has_large_map(schema["values"], each)
                for key, each in pairs
            )
    return False


def copied(encoding: Any) -> list[tuple[bytes, bytes]]:
    """Key and value of a snapshot row."""
    event_format = EventFormat(
        topic_prefix="x", cluster="c", node_id="n", key=encoding, value=encoding
    )
    made = SnapshotEncoder(
        Schema.from_cql(DDL), TABLE_ID, event_format, element_times=True, started_us=1
    )
    batch = encode([row(1, 2, v=(integer(5), long(1000), None))], made)
    return [(key, value or b"") for _, key, value, _, _ in batch.messages(0, len(batch))]


def test_connect_reads_snapshot_rows(connect: Connect) -> None:
    ((key, value),) = copied("json_with_schema")
    ((plain_key, plain_value),) = copied("json")
    for ours, plain in ((key, plain_key), (value, plain_value)):
        (theirs,) = connect.rewritten([ours], "json")
        check(ours, plain, theirs)
    (text,) = connect.rewritten([key], "string")
    assert json.loads(plain_value)["source"]["snapshot"] == "true"
    assert copied("string")[0][0] == text == b"Struct{k=1,c=2}"
