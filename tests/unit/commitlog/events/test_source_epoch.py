"""`source_epoch`: the epoch of an event's table in `source`, in each encoding."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import commitlog
from tests.oracle.reference.recordings import OWN
from tests.support.avro.reading import Ids
from tests.support.node.snapshot_rows import DDL as SNAPSHOT_DDL
from tests.support.node.snapshot_rows import TABLE_ID, encode
from tests.support.node.snapshot_rows import row as snapshot_row
from tests.support.protobuf.reading import ProtobufIds
from tests.support.segments.recorded_segments import packed_segments
from tests.support.segments.schema_stream import NOTHING
from tests.support.segments.segment_reading import reader_of, unpacked

FOLDER = OWN / "6.0" / "epochs"
EPOCHS = [6, 7, 8, 9, 10, 11, 12, 13, 14, 15]


def form(encoding: Any, ids: Ids, **options: Any) -> commitlog.EventFormat:
    return commitlog.EventFormat(
        topic_prefix="p",
        cluster="c",
        node_id="n",
        key=encoding,
        value=encoding,
        schema_ids=ids.ids,
        **{"source_epoch": True, **options},
    )


def values(folder: Path, event_format: commitlog.EventFormat, ids: Ids, to: Path) -> list[bytes]:
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
        # Each schema is compiled.
        ("protobuf", ProtobufIds(), typed_source, 9),
    ],
    ids=["json", "json_with_schema", "avro", "protobuf"],
)
def test_each_event_has_the_epoch_of_its_table(
    encoding: str, ids: Ids, source_of: Callable[[bytes, Ids], Any], step: int, tmp_path: Path
) -> None:
    found = values(FOLDER, form(encoding, ids), ids, tmp_path)
    assert len(found) == len(EPOCHS)
    assert [source_of(value, ids)["epoch"] for value in found[::step]] == EPOCHS[::step]


def test_the_text_of_a_struct_has_it_too(tmp_path: Path) -> None:
    ids = Ids()
    found = values(FOLDER, form("string", ids), ids, tmp_path)
    assert all(
        f"table=t,epoch={epoch}}}" in v.decode() for v, epoch in zip(found, EPOCHS, strict=True)
    )


@pytest.mark.parametrize("encoding", ["json", "avro"])
def test_a_log_without_epochs_has_none(encoding: str, tmp_path: Path) -> None:
    ids = Ids()
    found = values(OWN / "5.0-none" / "auto-repair", form(encoding, ids), ids, tmp_path)
    source_of = json_source if encoding == "json" else typed_source
    assert [source_of(value, ids)["epoch"] for value in found] == [None] * 3


def test_rows_of_snapshots_have_none() -> None:
    made = commitlog.SnapshotEncoder(
        commitlog.Schema.from_cql(SNAPSHOT_DDL),
        TABLE_ID,
        form("json", Ids()),
        element_times=True,
        started_us=1,
    )
    batch = encode([snapshot_row(1, 2)], made)
    (event,) = (json.loads(line) for line in batch.ndjson(0, 1).splitlines())
    assert event["value"]["source"]["epoch"] is None


@pytest.mark.parametrize(
    "options", [{"source_epoch": False}, {"layout": "debezium-1.x"}], ids=["off", "1.x"]
)
def test_other_layouts_do_not_have_it(options: dict[str, Any], tmp_path: Path) -> None:
    ids = Ids()
    found = values(FOLDER, form("json", ids, **options), ids, tmp_path)
    assert len(found) == len(EPOCHS)
    assert all("epoch" not in json_source(value, ids) for value in found)
