"""Encoding of snapshot rows as events."""

from base64 import b64decode
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.snapshot.encoders import SchemaEncoders
from agent.snapshot.errors import PostponedTableError
from agent.snapshot.offsets import TableSnapshot
from commitlog import (
    EventBatch,
    EventFormat,
    MalformedValueError,
    Schema,
    SchemaError,
    SnapshotEncoder,
)
from sidecar.encoding import SchemaIds
from sidecar.errors import UnavailableError
from sidecar.schema_registry.client import SchemaRejectedError
from sidecar.schema_registry.registrar import Registrar, Subjects
from sidecar.schema_registry.settings import Strategy
from tests.support.node.snapshot_rows import (
    DDL,
    READ_AT_US,
    TABLE_ID,
    Cells,
    cell,
    encode,
    integer,
    long,
    page,
    row,
)

PLAIN_ID = "5a1c0000-0000-1000-8000-000000000002"
STARTED_US = 1_795_000_000_000_000
OLDEST_US = -(1 << 63) + 1


def encoder(
    table_id: str = TABLE_ID, *, element_times: bool = True, op_style: Any = "native"
) -> SnapshotEncoder:
    form = EventFormat(topic_prefix="x", cluster="lab", node_id="n", op_style=op_style)
    return SnapshotEncoder(
        Schema.from_cql(DDL), table_id, form, element_times=element_times, started_us=STARTED_US
    )


def collection(*elements: bytes | None, count: int | None = None) -> bytes:
    return integer(len(elements) if count is None else count) + b"".join(map(cell, elements))


def events(batch: EventBatch) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in batch.ndjson(0, len(batch)).splitlines()]


def test_select_statement_lists_columns_with_write_times() -> None:
    assert encoder(PLAIN_ID).cql(-5, 7) == (
        'SELECT "a","b","V",WRITETIME("V"),TTL("V") FROM "ks"."plain" '
        'WHERE token("a","b") > -5 AND token("a","b") <= 7'
    )
    known = encoder(element_times=False).cql(0, 1)
    assert 'WRITETIME("v")' in known
    assert 'WRITETIME("m")' not in known
    assert 'WRITETIME("m")' in encoder().cql(0, 1)
    with pytest.raises(SchemaError):
        encoder("5a1c0000-0000-1000-8000-000000000009")


def test_snapshot_row_is_an_insert_event() -> None:
    (event,) = events(encode([row(1, 2, v=(integer(5), long(1000), integer(60)))], encoder()))
    value = event["value"]
    assert value["op"] == "i"
    source = value["source"]
    assert (source["snapshot"], source["file"], source["pos"]) == ("true", "", -1)
    assert source["ts_us"] == 1000
    expiry_s = READ_AT_US // 1_000_000 + 60
    assert value["after"]["v"] == {"value": 5, "deletion_ts": expiry_s * 1_000_000, "set": True}
    # A row whose cells all expire is treated as inserted with a TTL.
    assert value["cells"]["live"] == {"ts": OLDEST_US, "ttl": 60, "ldt": expiry_s}
    assert event["headers"]["cdc.source"].startswith("n/snapshot/")
    (read,) = events(encode([row(1, 2)], encoder(op_style="envelope")))
    assert read["value"]["op"] == "r"


def test_row_without_write_times_uses_snapshot_time() -> None:
    (event,) = events(encode([row(1, 2)], encoder()))
    assert event["value"]["source"]["ts_us"] == STARTED_US
    assert event["value"]["cells"]["live"] == {"ts": OLDEST_US}
    assert "cell" not in event["value"]["cells"]


def test_static_columns_form_one_event_per_partition() -> None:
    static = (b"x", long(9), None)
    rows = [row(1, 2, st=static), row(1, 3, st=static), row(2, None, st=static)]
    made = encoder()
    batch = encode(rows, made, end=None)
    kinds = [each["value"]["cells"]["kind"] for each in events(batch)]
    assert kinds == ["static", "row", "row", "static"]
    indexes = [each["headers"]["cdc.source"].rpartition("/")[2] for each in events(batch)]
    assert indexes == ["0", "1", "2", "0"]
    # The next page begins within the partition.
    more = encode([row(2, 5, st=static)], made, continues=True)
    assert [each["value"]["cells"]["kind"] for each in events(more)] == ["row"]
    assert len(encode([row(2, 5, st=static)], made)) == 2


def test_collection_elements_have_own_write_times() -> None:
    times = collection(long(10), long(20))
    ttls = collection(None, integer(60))
    (event,) = events(
        encode(
            [
                row(
                    1,
                    2,
                    m=(collection(b"a", integer(1), b"b", integer(2), count=2), times, ttls),
                    s=(collection(integer(1), integer(2)), times, ttls),
                    p=(cell(None) + cell(integer(4)), collection(None, long(30)), collection()),
                )
            ],
            encoder(),
        )
    )
    cells = {
        (each["col"], each["path"]): (each["ts"], each.get("ttl"))
        for each in event["value"]["cells"]["cell"]
    }
    assert cells == {
        ("m", "YQ=="): (10, None),
        ("m", "Yg=="): (20, 60),
        ("s", "AAAAAQ=="): (10, None),
        ("s", "AAAAAg=="): (20, 60),
        ("p", "AAE="): (30, None),
    }


def test_elements_without_times_have_oldest_timestamp() -> None:
    cells: Cells = [integer(1), integer(2), None, collection(b"a", integer(1), count=1)]
    rest: Cells = [None, None, None, None, None, None, None, None]
    (event,) = events(encode([[*cells, *rest]], encoder(element_times=False)))
    (found,) = event["value"]["cells"]["cell"]
    assert (found["col"], found["ts"]) == ("m", OLDEST_US)


def test_list_replaces_all_elements_up_to_newest_element() -> None:
    elements = collection(integer(7), integer(8))
    (event,) = events(
        encode([row(1, 2, l=(elements, collection(long(10), long(20)), collection()))], encoder())
    )
    cells = event["value"]["cells"]
    assert [each["ts"] for each in cells["cdel"]] == [20]
    assert [each["ts"] for each in cells["cell"]] == [21, 21]
    paths = [b64decode(each["path"]) for each in cells["cell"]]
    # Time UUIDs of 2010 sort after prepended and before appended elements.
    assert all(path[6] >> 4 == 1 for path in paths)
    assert event["value"]["after"]["l"]["value"] == [7, 8]


def test_repeated_encoding_yields_same_event_ids() -> None:
    rows = [row(1, 2, v=(integer(5), long(1000), None)), row(1, 3)]
    ids = [each["headers"]["cdc.id"] for each in events(encode(rows, encoder()))]
    later = encode(rows, encoder(), read_at_us=READ_AT_US + 10_000_000)
    assert ([each["headers"]["cdc.id"] for each in events(later)], len(set(ids))) == (ids, 2)


def test_batch_positions_are_tokens() -> None:
    batch = encode([row(1, 2), row(1, 3), row(2, 1)], encoder(), end=None)
    tokens = [each["value"]["cells"]["token"] for each in events(batch)]
    assert batch.position_after(1) == batch.start_position
    assert batch.position_after(2) == tokens[1] + (1 << 63)
    # More of the last partition may follow.
    assert batch.position_after(3) == batch.end_position == tokens[2] + (1 << 63) - 1
    assert encode([], encoder(), end=44).end_position == 44 + (1 << 63)
    assert batch.last_write_ts_us is None
    assert batch.mutations == 3


@pytest.mark.parametrize(
    ("error", "raised"),
    [(SchemaRejectedError, PostponedTableError), (UnavailableError, UnavailableError)],
)
def test_schema_rejection_postpones_only_the_rejected_table(
    error: type[Exception], raised: type[Exception]
) -> None:
    def schema_id(subject: str, schema: str) -> int:
        if "ks.t" in subject:
            raise error(f"the schema registry rejects the schema of {subject}")
        return 1

    registry: Any = SimpleNamespace(has_schema=lambda *_: True, schema_id=schema_id)
    holder: Any = SimpleNamespace(latest=lambda: Schema.from_cql(DDL), refresh=lambda _: False)
    ids, side = SchemaIds(), Subjects(registry, Strategy.TOPIC)
    form = EventFormat(
        topic_prefix="x", cluster="lab", node_id="n", key="avro", value="avro", schema_ids=ids
    )
    encoders = SchemaEncoders(holder, form, Registrar(ids, {"key": side, "value": side}))
    rejected, other = TableSnapshot(TABLE_ID, "ks.t", 1), TableSnapshot(PLAIN_ID, "ks.plain", 1)
    with pytest.raises(raised, match=r"x\.ks\.t-key"):
        encoders.encoder(rejected, element_times=True, was_rejected=False)
    if raised is PostponedTableError:
        found = encoders.encoder(other, element_times=True, was_rejected=False)
        assert isinstance(found, SnapshotEncoder)


@pytest.mark.parametrize("cut", [1, 3, 5, 20])
def test_truncated_page_is_rejected(cut: int) -> None:
    whole = page(row(1, 2, v=(integer(5), long(1), None)))
    with pytest.raises(MalformedValueError):
        encoder().encode(whole[:-cut], read_at_us=0, start=0)


@given(st.binary(max_size=300))
def test_any_page_bytes_are_encoded_or_rejected(body: bytes) -> None:
    try:
        encoder().encode(body, read_at_us=0, start=0)
    except MalformedValueError as error:
        assert str(error)


@given(st.lists(st.none() | st.binary(max_size=40), min_size=20, max_size=20))
def test_any_cells_are_encoded_or_rejected(cells: list[bytes | None]) -> None:
    try:
        encode([cells], encoder())
    except MalformedValueError as error:
        assert str(error)
