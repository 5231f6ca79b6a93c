"""`layout="debezium-1.x"`: the values of Debezium's connector for Cassandra before 2.0.

The expected texts follow `LegacyV1CassandraSourceInfoStructMaker`, `RowData` and `CellData` of the
connector's 1.x sources, as Connect's `JsonConverter` writes their structs without schemas.
"""

import json
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any, Literal, get_args

import pytest

import commitlog
from agent.config.properties import EventProperties
from tests.oracle.reference import parse_schema
from tests.oracle.reference.model import Bound, Cell, Deletion, Liveness, PartitionUpdate, Row
from tests.oracle.reference.recordings import OWN, Scenario
from tests.oracle.writer import Form, write_mutation, write_segment
from tests.support.avro.reading import Ids
from tests.support.node.snapshot_rows import DDL as SNAPSHOT_DDL
from tests.support.node.snapshot_rows import TABLE_ID, encode
from tests.support.node.snapshot_rows import row as snapshot_row
from tests.support.protobuf.reading import ProtobufIds
from tests.support.segments.recorded_segments import packed_segments
from tests.support.segments.schema_stream import NOTHING
from tests.support.segments.segment_reading import reader_of, schema_of, unpacked

TIME_US = 1562202942666382
DDL = """CREATE TABLE inventory.customers (id bigint, registration_date timestamp, first_name text,
  email text, PRIMARY KEY (id, registration_date))
  WITH ID = 5a1c395e-b41f-11e5-9f22-ba0be0483c18 AND cdc = true;"""
KEY = (1001).to_bytes(8)
DATE = (1562202942545).to_bytes(8)
DELETION = Deletion(TIME_US, TIME_US // 1_000_000)
SOURCE = (
    '"source":{"version":"1.9.7.Final","connector":"cassandra","cluster":"cassandra-cluster-1",'
    '"file":"CommitLog-7-1.log","pos":POS,"snapshot":false,"keyspace":"inventory",'
    '"table":"customers","ts_micro":1562202942666382}'
)
ID = '"id":{"value":1001,"deletion_ts":null,"set":true}'
DATE_SHOWN = '"registration_date":{"value":1562202942545,"deletion_ts":null,"set":true}'
RECORDED = [Scenario(OWN, OWN / "5.0" / name) for name in ("types", "deletions", "counters")]


def written(cells: tuple[Cell, ...], *, is_insert: bool) -> Row:
    return Row(
        (DATE,), Liveness(TIME_US, None, None) if is_insert else None, None, False, (), cells
    )


def text(name: str, value: bytes) -> Cell:
    return Cell(name, None, TIME_US, None, None, value)


def segment(folder: Path, *rows: object, partition: Deletion | None = None) -> Path:
    (table,) = parse_schema(DDL).tables.values()
    update = PartitionUpdate(table, KEY, partition, None, rows)  # type: ignore[arg-type]
    path = folder / "CommitLog-7-1.log"
    path.write_bytes(write_segment([[write_mutation([update], Form(version=7))]], version=7).data)
    return path


def form(**options: Any) -> commitlog.EventFormat:
    return commitlog.EventFormat(
        topic_prefix="p",
        cluster="cassandra-cluster-1",
        node_id="n",
        connector_version="1.9.7.Final",
        **{"layout": "debezium-1.x", "cells": False, **options},
    )


def values(path: Path) -> list[str]:
    batch = reader_of(path).read(commitlog.Schema.from_cql(DDL), form(), complete=True)
    found = [message[2] for message in batch.messages(0, len(batch))]
    texts = [value.decode() for value in found if value is not None]
    return [re.sub(r'^\{"ts_ms":\d+', '{"ts_ms":0', each) for each in texts]


WRITTEN = '"email":null,"first_name":{"value":"Anne","deletion_ts":null,"set":true}'
GONE = f'{{"value":null,"deletion_ts":{TIME_US},"set":true}}'


@pytest.mark.parametrize(
    ("op", "row", "after"),
    [
        ("i", written((text("first_name", b"Anne"),), is_insert=True), WRITTEN),
        ("u", written((text("first_name", b"Anne"),), is_insert=False), WRITTEN),
        ("d", Row((DATE,), None, DELETION, False, (), ()), f'"email":{GONE},"first_name":{GONE}'),
    ],
    ids=["insert", "update", "delete"],
)
def test_row_matches_debezium_1_layout(op: str, row: Row, after: str, tmp_path: Path) -> None:
    (value,) = values(segment(tmp_path, row))
    shown = SOURCE.replace("POS", str(json.loads(value)["source"]["pos"]))
    assert value == f'{{"ts_ms":0,"op":"{op}",{shown},"after":{{{ID},{DATE_SHOWN},{after}}}}}'


def test_range_keeps_bounds(tmp_path: Path) -> None:
    """The connector's releases 1.x sent no ranges."""
    bounds = (
        Bound("INCL_START_BOUND", (DATE,), DELETION),
        Bound("INCL_END_BOUND", (DATE,), DELETION),
    )
    (value,) = values(segment(tmp_path, *bounds))
    after = json.loads(value)["after"]
    assert after["_range_start"]["method"] == "INCL_START_BOUND"
    assert after["_range_end"]["method"] == "INCL_END_BOUND"


Encoding = Literal["json", "json_with_schema", "avro", "string"]
ENCODINGS: tuple[Encoding, ...] = ("json", "json_with_schema", "avro", "string")


@pytest.mark.parametrize("scenario", RECORDED, ids=str)
@pytest.mark.parametrize(("encoding", "cells"), [*product(ENCODINGS[:3], [True, False])])
def test_layouts_differ_only_in_source_and_ranges(
    scenario: Scenario, encoding: Encoding, cells: bool, tmp_path: Path
) -> None:
    compared = 0
    for path, name in scenario.segments():
        segment = unpacked(path, name, tmp_path)
        old = decoded(segment, scenario, encoding, cells=cells)
        new = decoded(segment, scenario, encoding, cells=cells, layout="debezium-3")
        compared += compare(old, new)
    assert compared > 0


def compare(old: list[tuple[Any, Any, Any]], new: list[tuple[Any, Any, Any]]) -> int:
    # Larger values make smaller batches.
    pairs = [*zip(old, new, strict=False)]
    for (old_key, old_value, headers), (key, value, new_headers) in pairs:
        # Compared as text, because NaN does not equal itself.
        assert str((old_key, headers)) == str((key, new_headers))
        source, now = old_value.pop("source"), value.pop("source")
        assert source == {
            **{name: now[name] for name in ("version", "connector", "cluster", "file", "pos")},
            "snapshot": False,
            **{name: now[name] for name in ("keyspace", "table")},
            "ts_micro": now["ts_us"],
        }
        assert [*source] == [
            *["version", "connector", "cluster", "file", "pos", "snapshot"],
            *["keyspace", "table", "ts_micro"],
        ]
        for each in (value, old_value):
            each.pop("ts_ms")
            for side in ("_range_start", "_range_end"):
                if each["after"].get(side, "absent") is None:
                    del each["after"][side]
        assert str(old_value) == str(value)
    return len(pairs)


def decoded(
    path: Path, scenario: Scenario, encoding: Encoding, **options: Any
) -> list[tuple[Any, Any, Any]]:
    ids = Ids()
    event_format = form(
        key=encoding,
        value=encoding,
        schema_ids=ids.ids,
        all_tables=True,
        counter_events="shards",
        **options,
    )
    schema, reader = schema_of(scenario), reader_of(path)
    found = []
    while True:
        batch = reader.read(schema, event_format, complete=True, max_events=100)
        if batch.blocked is not None and batch.blocked.unregistered:
            ids.give(batch.blocked.unregistered)
        for _, key, value, headers, _ in batch.messages(0, len(batch)):
            assert value is not None
            found.append((shown(key, encoding, ids), shown(value, encoding, ids), headers))
        if batch.stop == "end" or len(found) > 300:
            return found
        if batch.blocked is not None and not batch.blocked.unregistered:
            return found


def shown(data: bytes, encoding: Encoding, ids: Ids) -> Any:
    if encoding == "avro":
        return ids.decoded(data)
    document = json.loads(data)
    return document["payload"] if encoding == "json_with_schema" else document


@pytest.mark.parametrize("layout", ["debezium-1.x", "debezium-3"])
def test_snapshot_rows_are_marked(layout: str) -> None:
    """Snapshot rows have no epoch."""
    schema = commitlog.Schema.from_cql(SNAPSHOT_DDL)
    form_of_rows = form(layout=layout, source_epoch=True)
    made = commitlog.SnapshotEncoder(
        schema, TABLE_ID, form_of_rows, element_times=True, started_us=TIME_US
    )
    (line,) = encode([snapshot_row(1, 2)], made).ndjson(0, 1).splitlines()
    source = json.loads(line)["value"]["source"]
    assert (source["file"], source["pos"]) == ("", -1)
    if layout == "debezium-1.x":
        assert (source["snapshot"], source["ts_micro"]) == (True, TIME_US)
    else:
        assert (source["snapshot"], source["epoch"]) == ("true", None)


def test_struct_text_has_no_extra_comma(tmp_path: Path) -> None:
    path = segment(tmp_path, written((text("email", b"a@b"),), is_insert=True))
    batch = reader_of(path).read(
        commitlog.Schema.from_cql(DDL), form(value="string"), complete=True
    )
    value = (batch.messages(0, 1)[0][2] or b"").decode()
    assert "snapshot=false" in value
    assert "ts_micro=1562202942666382}" in value
    assert value.endswith("email=Struct{value=a@b,set=true}}}")


def test_layout_property_accepts_encoder_names() -> None:
    field = EventProperties.model_fields["event_layout"]
    names = get_args(field.annotation)
    assert field.default in names
    for name in names:
        form(layout=name)
    with pytest.raises(ValueError, match="layout"):
        form(layout="debezium-2")


FOLDER = OWN / "6.0" / "epochs"
EPOCHS = [6, 7, 8, 9, 10, 11, 12, 13, 14, 15]


def epoch_form(encoding: Any, ids: Ids, **options: Any) -> commitlog.EventFormat:
    return commitlog.EventFormat(
        topic_prefix="p",
        cluster="c",
        node_id="n",
        key=encoding,
        value=encoding,
        schema_ids=ids.ids,
        **{"source_epoch": True, **options},
    )


def all_values(
    folder: Path, event_format: commitlog.EventFormat, ids: Ids, to: Path
) -> list[bytes]:
    """All values of a recording, with the schema that its segments hold."""
    schema = NOTHING
    found = []
    abandoned: list[tuple[str, str | None]] = []
    for packed in packed_segments(folder):
        reader = reader_of(unpacked(packed, packed.name.removesuffix(".gz"), to))
        while True:
            batch = reader.read(schema, event_format, complete=True, abandoned=abandoned)
            found += [value for _, _, value, *_ in batch.messages(0, len(batch)) if value]
            if batch.blocked is not None and batch.blocked.unregistered:
                ids.give(batch.blocked.unregistered)
            elif batch.blocked is not None:
                abandoned.append((batch.blocked.table_id, batch.blocked.column))
            elif batch.schema_changes is not None:
                schema = schema.with_changes(batch.schema_changes)
            elif batch.stop == "end":
                break
    return found


def json_source(value: bytes, ids: Ids) -> Any:
    return json.loads(value)["source"]


def connect_source(value: bytes, ids: Ids) -> Any:
    document = json.loads(value)
    (schema,) = (f for f in document["schema"]["fields"] if f["field"] == "source")
    assert schema["fields"][-1] == {"type": "int64", "optional": True, "field": "epoch"}
    return document["payload"]["source"]


def typed_source(value: bytes, ids: Ids) -> Any:
    return ids.decoded(value)["source"]


@pytest.mark.parametrize(
    ("encoding", "ids", "source_of", "step"),
    [
        ("json", Ids(), json_source, 1),
        ("json_with_schema", Ids(), connect_source, 1),
        ("avro", Ids(), typed_source, 1),
        # A larger step, because compiling each schema takes time.
        ("protobuf", ProtobufIds(), typed_source, 9),
    ],
    ids=["json", "json_with_schema", "avro", "protobuf"],
)
def test_event_contains_epoch_of_table(
    encoding: str, ids: Ids, source_of: Callable[[bytes, Ids], Any], step: int, tmp_path: Path
) -> None:
    found = all_values(FOLDER, epoch_form(encoding, ids), ids, tmp_path)
    assert len(found) == len(EPOCHS)
    assert [source_of(value, ids)["epoch"] for value in found[::step]] == EPOCHS[::step]


def test_struct_text_contains_epoch(tmp_path: Path) -> None:
    ids = Ids()
    found = all_values(FOLDER, epoch_form("string", ids), ids, tmp_path)
    assert all(
        f"table=t,epoch={epoch}}}" in v.decode() for v, epoch in zip(found, EPOCHS, strict=True)
    )


@pytest.mark.parametrize("encoding", ["json", "avro"])
def test_log_without_epochs_yields_null_epoch(encoding: str, tmp_path: Path) -> None:
    ids = Ids()
    found = all_values(OWN / "5.0-none" / "auto-repair", epoch_form(encoding, ids), ids, tmp_path)
    source_of = json_source if encoding == "json" else typed_source
    assert [source_of(value, ids)["epoch"] for value in found] == [None] * 3


@pytest.mark.parametrize(
    "options", [{"source_epoch": False}, {"layout": "debezium-1.x"}], ids=["off", "1.x"]
)
def test_epoch_is_absent_in_other_layouts(options: dict[str, Any], tmp_path: Path) -> None:
    ids = Ids()
    found = all_values(FOLDER, epoch_form("json", ids, **options), ids, tmp_path)
    assert len(found) == len(EPOCHS)
    assert all("epoch" not in json_source(value, ids) for value in found)
