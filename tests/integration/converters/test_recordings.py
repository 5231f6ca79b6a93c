"""Every event of the recordings with values of every type, read by Connect's own converter."""

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import commitlog
from tests.oracle.reference.recordings import Scenario, scenarios
from tests.support.avro.reading import Message, messages
from tests.support.converters.comparison import WithSchema, is_same
from tests.support.converters.connect import Connect, Decimals
from tests.support.segments.segment_reading import schema_of, unpacked

TYPES = [scenario for scenario in scenarios() if scenario.folder.name == "types"]
NEWEST = [scenario for scenario in TYPES if "5.0/" in str(scenario)]
OTHERS = [scenario for scenario in scenarios() if scenario not in TYPES and "5.0/" in str(scenario)]
MODES: tuple[dict[str, Any], ...] = (
    {},
    {"decimal": "precise", "varint": "precise", "duration": "precise"},
    {"decimal": "string", "varint": "string", "duration": "string", "names": "avro_unicode"},
    {
        "decimal": "precise",
        "varint": "precise",
        "key_decimals": "numeric",
        "value_decimals": "numeric",
    },
    {"layout": "debezium-1.x"},
)
# Of each recording that is not about types, so many events are enough.
_SOME = 100
_LOST = (b'"NaN"', b'Infinity"', b":-0.0,", b":-0.0}", b"[-0.0", b",-0.0")


@pytest.fixture(scope="module")
def connect() -> Iterator[Connect]:
    with Connect() as running:
        yield running


def format_of(**choices: Any) -> commitlog.EventFormat:
    return commitlog.EventFormat(
        topic_prefix="a-b.c",
        cluster="cluster",
        node_id="node",
        counter_events="shards",
        all_tables=True,
        **choices,
    )


def both(
    scenario: Scenario, folder: Path, encoding: str, **modes: Any
) -> Iterator[tuple[Message, Message]]:
    """Each event in an encoding, and as plain JSON."""
    schema = schema_of(scenario)
    other = format_of(**modes, key=encoding, value=encoding)
    plain = format_of(**modes)
    for path, name in scenario.segments():
        segment = unpacked(path, name, folder)
        yield from zip(
            messages(segment, schema, other, max_events=500),
            messages(segment, schema, plain),
            strict=True,
        )


@pytest.mark.parametrize(
    ("scenario", "modes"),
    [
        *((each, modes) for each in NEWEST for modes in MODES),
        *((each, {}) for each in (*TYPES, *OTHERS) if each not in NEWEST),
    ],
    ids=str,
)
def test_connect_reads_every_message(
    scenario: Scenario, modes: dict[str, Any], tmp_path: Path, connect: Connect
) -> None:
    pairs = both(scenario, tmp_path, "json_with_schema", **modes)
    found = list(pairs if scenario in TYPES else islice(pairs, _SOME))
    decimals: Decimals = "NUMERIC" if "key_decimals" in modes else "BASE64"
    for part in ("key", "value"):
        ours = [getattr(message, part) for message, _ in found]
        written = connect.rewritten(ours, "json", decimals)
        for (message, plain), theirs in zip(found, written, strict=True):
            check(getattr(message, part), getattr(plain, part), theirs)
            assert (message.topic, message.headers) == (plain.topic, plain.headers)


def check(ours: bytes, plain: bytes, theirs: bytes) -> None:
    """The schema is what Connect writes of it, byte for byte, and the payload is the plain JSON."""
    message, read = WithSchema.of(ours), WithSchema.of(theirs)
    assert message.schema == read.schema
    payload, expected = json.loads(message.payload), json.loads(plain)
    for each in (payload, expected):
        each.pop("ts_ms", None)
    assert payload == expected
    whole = json.loads(message.payload)
    assert is_same(message.parsed_schema, whole, json.loads(read.payload))


@pytest.mark.parametrize("modes", MODES[:3], ids=str)
@pytest.mark.parametrize("scenario", NEWEST, ids=str)
def test_text_equals_the_string_converter(
    scenario: Scenario, modes: dict[str, Any], tmp_path: Path, connect: Connect
) -> None:
    """Bytes are shown to Java as strings of base64; maps of several entries have no order there,
    and what is no number, or a zero below zero, is zero."""
    compared = 0
    pairs = zip(
        both(scenario, tmp_path, "string", **modes),
        both(scenario, tmp_path, "json_with_schema", **with_digits(modes)),
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


def with_digits(modes: dict[str, Any]) -> dict[str, Any]:
    return {**modes, "key_decimals": "numeric", "value_decimals": "numeric"}


def without_clock(text: str) -> str:
    """Without `ts_ms` in front, which is the clock of the reader."""
    return text.partition(",op=")[2] if text.startswith("Struct{ts_ms=") else text


def with_strings(message: WithSchema) -> bytes:
    """Bytes as strings, which are what they are in JSON."""
    schema = message.schema.replace('"type":"bytes","optional"', '"type":"string","optional"')
    # A decimal stays one.
    decimal = '"optional":true,"name":"org.apache.kafka.connect.data.Decimal"'
    schema = schema.replace(f'"type":"string",{decimal}', f'"type":"bytes",{decimal}')
    payload = message.payload.decode()
    return f'{{"schema":{schema},"payload":{payload}}}'.encode()


def has_large_map(schema: dict[str, Any], value: Any) -> bool:
    """Whether there is a map of several entries in a value."""
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
