"""Rows and events as Arrow columns: whole keys, carried columns, rejected input."""

import pickle
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import commitlog
from commitlog import MalformedValueError, Schema, SchemaError
from spark_jobs.arrow import Decoder
from tests.oracle.reference.recordings import OWN, Scenario
from tests.support.events.cql_values import schema_text, types
from tests.support.segments.segment_reading import reader_of, schema_of, unpacked

ID = "5a1c395e-b41f-11e5-9f22-ba0be0483c{:02x}"
TEXT = f"""
CREATE TABLE ks.t (
    a int, b text, c int, d text, "S" int static, "s" text static, z int, "Z" decimal,
    gone int, m map<int, text>, PRIMARY KEY ((a, b), c, d)
) WITH ID = {ID.format(1)};
ALTER TABLE ks.t DROP gone USING TIMESTAMP 1;
CREATE TABLE ks.one (k int PRIMARY KEY, v text) WITH ID = {ID.format(2)};
"""
SCHEMA = Schema.from_cql(TEXT)
COMPOSITE = b"\0\4\0\0\0\7\0" + b"\0\1x\0"


def number(value: int) -> bytes:
    return struct.pack(">i", value)


def test_decoder_columns_match_select() -> None:
    found = Decoder(SCHEMA, "ks", "t").schema
    assert found.names == ["a", "b", "c", "d", "S", "s", "Z", "m", "z"]
    assert found.field("m").type == pa.map_(pa.int32(), pa.string())


def test_decoder_splits_keys_into_columns() -> None:
    decoder = Decoder(SCHEMA, "ks", "t", partition_key="key", clustering="cks", carry=["ts"])
    batch = pa.record_batch(
        {
            "key": pa.array([COMPOSITE, COMPOSITE, None], pa.large_binary()),
            "cks": pa.array([[number(1), b"y"], None, []], pa.list_(pa.binary())),
            "ts": pa.array([10, 11, 12]),
            "z": pa.array([number(5), None, b""], pa.binary()),
        }
    )
    typed = decoder.decode(batch)
    assert typed.schema.names == ["ts", *decoder.schema.names]
    rows = [
        {name: row[name] for name in ("ts", "a", "b", "c", "d", "z", "m")}
        for row in typed.to_pylist()
    ]
    absent = {"m": None}
    assert rows == [
        {"ts": 10, "a": 7, "b": "x", "c": 1, "d": "y", "z": 5} | absent,
        {"ts": 11, "a": 7, "b": "x", "c": None, "d": None, "z": None} | absent,
        {"ts": 12, "a": None, "b": None, "c": None, "d": None, "z": None} | absent,
    ]


def test_single_column_key_is_plain_value() -> None:
    decoder = Decoder(SCHEMA, "ks", "one", partition_key="key")
    typed = decoder.decode(pa.record_batch({"key": pa.array([number(7)], pa.binary())}))
    assert typed.to_pylist() == [{"k": 7, "v": None}]


def test_sliced_batch_is_decoded() -> None:
    values = pa.array([number(at) if at % 3 else None for at in range(1000)], pa.binary())
    batch = pa.record_batch({"k": values}).slice(500, 77)
    typed = Decoder(SCHEMA, "ks", "one").decode(batch)
    assert typed.column("k").to_pylist() == [at if at % 3 else None for at in range(500, 577)]


def test_empty_array_needs_no_offsets() -> None:
    """Spark 4.1 sends empty arrays whose offset buffer contains foreign bytes."""
    stray = pa.py_buffer(number(-189_153_672))
    empty = pa.Array.from_buffers(pa.binary(), 0, [None, stray, pa.py_buffer(b"")])
    zeros = pa.py_buffer(bytes(8))
    lists = pa.ListArray.from_buffers(pa.list_(pa.binary()), 1, [None, zeros], children=[empty])
    keys = pa.array([COMPOSITE], pa.binary())
    decoder = Decoder(SCHEMA, "ks", "t", partition_key="key", clustering="cks")
    (row,) = decoder.decode(pa.record_batch({"key": keys, "cks": lists})).to_pylist()
    assert (row["a"], row["c"]) == (7, None)


def test_decoder_survives_pickling() -> None:
    decoder = Decoder(SCHEMA, "ks", "t", show={"Z": "decimal(9,2)"}, partition_key="key")
    there = pickle.loads(pickle.dumps(decoder))
    assert there.schema == decoder.schema
    batch = pa.record_batch({"key": pa.array([COMPOSITE], pa.binary())})
    assert there.decode(batch).equals(decoder.decode(batch))


def test_large_batch_is_decoded() -> None:
    rows = 1_000_000
    keys = pa.array([number(at) for at in range(rows)], pa.binary())
    texts = pa.array([b"text of a row"] * rows, pa.binary())
    typed = Decoder(SCHEMA, "ks", "one").decode(pa.record_batch({"k": keys, "v": texts}))
    assert (typed.num_rows, typed.column("k").to_pylist()) == (rows, list(range(rows)))
    assert typed.column("v").null_count == 0


@pytest.mark.parametrize(
    ("choices", "error", "cause"),
    [
        ({"show": {"b": "decimal(3,1)"}}, ValueError, "b: its type has no decimal or varint"),
        ({"show": {"y": "raw"}}, ValueError, "column y: the table has no such column"),
        ({"show": {"Z": "float"}}, ValueError, '"float" is neither "raw" nor'),
        ({"table_id": ID.format(9)}, SchemaError, "there is no such table"),
    ],
)
def test_invalid_decoder_options_are_rejected(
    choices: dict[str, Any], error: type[Exception], cause: str
) -> None:
    with pytest.raises(error, match=rf"ks\.t.*{cause}"):
        Decoder(SCHEMA, "ks", "t", **choices)


def test_tables_of_one_name_are_distinguished_by_id() -> None:
    again = f"CREATE TABLE ks.one (k bigint PRIMARY KEY) WITH ID = {ID.format(3)};"
    schema = SCHEMA.merged(Schema.from_cql(again))
    with pytest.raises(SchemaError, match=f"several tables.*{ID.format(2)}.*{ID.format(3)}"):
        Decoder(schema, "ks", "one")
    for number_of, names in ((2, ["k", "v"]), (3, ["k"])):
        assert Decoder(schema, "ks", "one", table_id=ID.format(number_of)).schema.names == names


@pytest.mark.parametrize(
    ("columns", "cause"),
    [
        ({"y": [b""]}, "column y: the table has no such column"),
        ({"gone": [b""]}, "column gone: the table has no such column"),
        ({"z": [1]}, "column z: expected binary, not Int64"),
        ({"m": [b""]}, "column m: expected a list of struct"),
    ],
)
def test_invalid_columns_are_rejected(columns: dict[str, list[Any]], cause: str) -> None:
    with pytest.raises(ValueError, match=rf"ks\.t, {cause}"):
        Decoder(SCHEMA, "ks", "t").decode(pa.record_batch(columns))


@pytest.mark.parametrize(
    ("columns", "cause"),
    [
        ({"key": [COMPOSITE[:-1]], "cks": [[]]}, "column key, row 0 .*truncated"),
        ({"key": [COMPOSITE], "cks": [[b"", b"", b""]]}, "3 clustering values; the table has 2"),
        ({"key": [COMPOSITE], "cks": [[b"abc"]]}, "column c, row 0 .*int value: 3 bytes"),
    ],
)
def test_malformed_keys_are_rejected(columns: dict[str, list[Any]], cause: str) -> None:
    decoder = Decoder(SCHEMA, "ks", "t", partition_key="key", clustering="cks")
    with pytest.raises(MalformedValueError, match=cause):
        decoder.decode(pa.record_batch(columns))


def test_non_batch_argument_is_rejected() -> None:
    decoder = Decoder(SCHEMA, "ks", "t")
    for nothing in (None, pa.array([1])):
        with pytest.raises(TypeError, match="record batch"):
            decoder.decode(nothing)


@given(st.data(), st.lists(st.none() | st.binary(max_size=60), max_size=5))
def test_arbitrary_bytes_are_decoded_or_rejected(
    data: st.DataObject, values: list[bytes | None]
) -> None:
    schema = Schema.from_cql(schema_text({"v": data.draw(types())}))
    batch = pa.record_batch({"v": pa.array(values, pa.binary())})
    try:
        typed = Decoder(schema, "ks", "t").decode(batch)
    except MalformedValueError as error:
        assert "ks.t, column v, row" in str(error)
    else:
        typed.validate(full=True)
        assert typed.num_rows == len(values)


RECORDING = Scenario(OWN, OWN / "5.0" / "deletions")


def batch(folder: Path) -> commitlog.EventBatch:
    (path, name), *_ = RECORDING.segments()
    event_format = commitlog.EventFormat(
        topic_prefix="t", cluster="c", node_id="n", all_tables=True, tombstones=True
    )
    reader = reader_of(unpacked(path, name, folder))
    return reader.read(schema_of(RECORDING), event_format, complete=True, abandoned=[])


def test_arrow_columns_equal_values_and_headers_of_messages(tmp_path: Path) -> None:
    events = batch(tmp_path)
    columns = pa.record_batch(events)
    assert [(each.name, str(each.type)) for each in columns.schema] == [
        ("id", "binary"),
        ("ts_us", "int64"),
        ("kind", "string"),
        ("value", "binary"),
    ]
    expected = []
    for _, _, value, headers, _ in events.messages(0, len(events)):
        given = dict(headers)
        expected.append(
            (given["cdc.id"], int(given["cdc.ts_us"]), given["cdc.kind"].decode(), value)
        )
    assert [tuple(row.values()) for row in columns.to_pylist()] == expected
    assert None in [value for *_, value in expected]


def test_batch_without_events_has_no_rows(tmp_path: Path) -> None:
    reader = reader_of(unpacked(*RECORDING.segments()[0], tmp_path))
    nothing = commitlog.EventFormat(
        topic_prefix="t", cluster="c", node_id="n", include=["no\\.table"]
    )
    events = reader.read(schema_of(RECORDING), nothing, complete=True)
    assert pa.record_batch(events).to_pylist() == []
