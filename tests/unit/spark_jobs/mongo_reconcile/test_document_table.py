"""Changes in any order and any batches, compared with their collection."""

import json
import random
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.errors import CheckpointError, InputError, mapped_error
from spark_jobs.mongo_reconcile.changes import changes
from spark_jobs.mongo_reconcile.document_table import DocumentTable, latest
from spark_jobs.mongo_reconcile.options import MongoOptions
from tests.support.seeds import draw_seed
from tests.support.spark.mongo_topic import TOPIC, Collection, drawn_histories, envelope, record
from tests.support.spark.records import Record, frame

HISTORIES = 40
BY_TOPIC = MongoOptions(order_by="topic")


@pytest.fixture(scope="module")
def collections() -> list[Collection]:
    seed = draw_seed()
    return drawn_histories(HISTORIES, seed)


def records_of(collections: list[Collection]) -> list[Record]:
    return [each for collection in collections for each in collection.records]


def expected(collections: list[Collection]) -> dict[tuple[str, str], str]:
    return {
        (f"{collection.db}.cust", key): document
        for collection in collections
        for key, document in collection.documents.items()
    }


def live(rows: DataFrame) -> dict[tuple[str, str], str]:
    found = rows.where("state = 'live'").select("collection", "id", "document").collect()
    return {(collection, key): document for collection, key, document in found}


def is_scattered(collection: Collection) -> bool:
    """Whether a document has records in several partitions."""
    places = {(each.key, each.partition) for each in collection.records}
    return len(places) > len({key for key, _ in places})


@pytest.mark.parametrize("options", [MongoOptions(), BY_TOPIC], ids=["cluster time", "topic"])
def test_document_table_ignores_order_and_repetitions(
    spark: SparkSession, collections: list[Collection], options: MongoOptions
) -> None:
    """Elections and the primaries' clocks do not matter either: a table equals its collection."""
    read = [each for each in collections if options is not BY_TOPIC or not is_scattered(each)]
    records = records_of(read) * 3
    random.shuffle(records)
    assert live(latest(changes(frame(spark, records), options))) == expected(read)


def test_document_table_is_right_after_repeated_batches(
    spark: SparkSession, tmp_path: Path, collections: list[Collection]
) -> None:
    """A change without the document makes the document unknown until a later delete or full
    document. Deletes are purged after the retention."""
    update = {"updatedFields": '{"n": "y"}', "removedFields": None, "truncatedArrays": None}
    shop = [
        *(
            record(offset, key, envelope("u", None, 6, updateDescription=update), time=(6, 1))
            for offset, key in enumerate(("7", "8", "9"))
        ),
        record(3, "7", envelope("c", '{"n": "x"}', 9), time=(5, 9)),
        record(4, "8", envelope("u", '{"n": "z"}', 5), time=(7, 0)),
        record(5, "9", envelope("d", None, 5), time=(7, 0)),
    ]
    records = records_of(collections)
    random.shuffle(records)
    middle = len(records) // 2
    documents = DocumentTable(spark, str(tmp_path / "table"))
    first, second = [*records[:middle], *shop], records[middle:]
    for batch in (first, second, first):
        documents.apply(changes(frame(spark, batch)), seen_ms=1)
    current = {("shop.cust", "8"): '{"n": "z"}'}
    assert live(documents.rows()) == expected(collections) | current
    shown = documents.current("shop.cust").orderBy("id").collect()
    assert [tuple(row) for row in shown] == [("7", None, False), ("8", '{"n": "z"}', True)]
    counts = documents.counts()
    assert counts["shop.cust"] == {"unknown": 1, "live": 1, "deleted": 1}
    documents.purge(before_ms=1)
    assert documents.counts() == counts
    documents.purge(before_ms=2)
    states = {state for of_state in documents.counts().values() for state in of_state}
    assert states == {"unknown", "live"}


def ddl(offset: int, time: tuple[int, int], name: str, to: str | None, *, wrapped: bool) -> Record:
    """A drop or a rename as sent to `topic.schema.changes`, with and without a schema."""
    event = {"ns": {"db": name, "coll": "cust"}}
    if to is not None:
        event["to"] = {"db": to, "coll": "cust"}
    operation = "drop" if to is None else "rename"
    value = {"source": {"db": name}, "operation": operation, "event": event, "ts_ms": 5}
    if wrapped:
        value = {"schema": {}, "payload": {**value, "event": json.dumps(event)}}
    return record(offset, f"{name}.cust", value, time=time, partition=9)


def test_drops_and_renames_end_documents_in_any_order(spark: SparkSession, tmp_path: Path) -> None:
    """With the policy `resnapshot` a snapshot follows a rename to a captured name."""
    seed = draw_seed()
    chosen = random.Random(seed)
    held: dict[str, dict[str, str]] = {name: {} for name in ("a", "b", "c")}
    records: list[Record] = []

    def send(name: str, key: str, op: str, time: tuple[int, int]) -> None:
        value = envelope(op, held[name].get(key), 5, db=name)
        records.append(record(len(records), key, value, time=time))

    for step in range(1, 150):
        time = (1_700_000_000 + step // 3, step)
        name, to = chosen.sample(sorted(held), 2)
        match chosen.choices(("write", "delete", "drop", "rename"), (8, 3, 1, 1))[0]:
            case "write":
                key = str(chosen.randrange(6))
                held[name][key] = f'{{"step": {step}}}'
                send(name, key, "c", time)
            case "delete":
                key = str(chosen.randrange(6))
                if held[name].pop(key, None) is not None:
                    send(name, key, "d", time)
            case "drop":
                held[name] = {}
                records.append(ddl(len(records), time, name, None, wrapped=step % 2 == 0))
            case "rename":
                held[to], held[name] = held[name], {}
                records.append(ddl(len(records), time, name, to, wrapped=step % 2 == 0))
                for key in held[to]:
                    send(to, key, "r", time)
    other = {"source": {"db": "a"}, "operation": "createIndexes", "event": {}, "ts_ms": 5}
    records.append(record(len(records), "a.cust", other, time=(5, 1)))
    documents = DocumentTable(spark, str(tmp_path / "table"))
    chosen.shuffle(records)
    for batch in (records[::2], records[1::2], chosen.sample(records, 20)):
        documents.apply(changes(frame(spark, batch)), seen_ms=1)
    for name, expected_documents in held.items():
        shown = documents.current(f"{name}.cust").collect()
        assert {row.id: row.document for row in shown} == expected_documents
    assert {state for of in documents.counts().values() for state in of} <= {"live", "deleted"}


def test_changes_with_schemas_and_every_key_type_are_read(spark: SparkSession) -> None:
    keys = ("1234", "12.34", '"1234"', '{"hi": "kafka","nums": [10.0,100.0]}')
    records = []
    for offset, key in enumerate(keys):
        plain = record(offset, key, envelope("r", "{}", 5, snapshot=True))
        wrapped = Record(
            None,
            key=b'{"schema": {"type": "struct"}, "payload": ' + (plain.key or b"") + b"}",
            value=b'{"schema": {"type": "struct"}, "payload": ' + (plain.value or b"") + b"}",
            topic=TOPIC,
            offset=offset + 10,
        )
        records += [plain, wrapped]
    found = changes(frame(spark, records)).select("id", "state").collect()
    assert sorted(map(tuple, found)) == sorted((key, "live") for key in keys * 2)


NOT_JSON = "has a key or a value with a member that is not JSON or has another type"
DROP = {"operation": "drop", "event": {"ns": {"db": "a", "coll": "b"}}}
INVALID = (
    (record(0, None, envelope("c", "{}", 5)), "has no document `id` in its key"),
    (record(1, "7", {"status": "BEGIN"}), "its `op` is missing, not one of c, u, d, r"),
    (record(2, "7", envelope("t", None, 5)), "its `op` is t, not one"),
    (record(3, "7", {"op": "c", "after": "{}"}), "lacks `db` or `collection`"),
    (record(4, "7", DROP), "is a change of a collection without a cluster time"),
    (record(5, "7", {"operation": "drop", "event": {"ns": 7}}, time=(5, 1)), NOT_JSON),
    (Record(None, b"no json", b'{"id": "7"}', TOPIC, 0, 6), "its `op` is missing"),
    (record(7, "7", {**envelope("c", "{}", 5), "transaction": {"total_order": "x"}}), NOT_JSON),
    (
        Record(None, b"\0\0\0\0\5\2a", b"\0\0\0\0\6\0", TOPIC, 0, 8),
        "is Avro, but mongo_reconcile reads JSON",
    ),
)


def test_invalid_change_records_have_reasons(spark: SparkSession) -> None:
    given = frame(spark, [each for each, _ in INVALID])
    found = changes(given, keep_invalid=True).orderBy("offset").collect()
    for offset, (row, (_, cause)) in enumerate(zip(found, INVALID, strict=True)):
        assert f"The record L.shop.cust/0/{offset}" in row["error"]
        assert cause in row["error"]


def test_invalid_change_record_is_an_error(spark: SparkSession) -> None:
    with pytest.raises(Exception) as caught:
        changes(frame(spark, [INVALID[2][0]])).collect()
    fault = mapped_error(caught.value)
    assert isinstance(fault, InputError)
    assert str(fault).startswith("The record L.shop.cust/0/2 is not a change of a document")


@pytest.mark.parametrize(
    ("places", "cause"),
    [
        ([(None, 0, 5), (None, 1, 2)], "Only changes in one partition have an order"),
        ([((7, 1), 0, 5), (None, 0, 6)], "follows L.shop.cust/0/5 of the same document"),
    ],
)
def test_changes_without_known_order_are_an_error(
    spark: SparkSession,
    tmp_path: Path,
    places: list[tuple[tuple[int, int] | None, int, int]],
    cause: str,
) -> None:
    """This applies within one batch and between a batch and the table."""
    records = [
        record(offset, "7", envelope("u", "{}", 5), time=time, partition=partition)
        for time, partition, offset in places
    ]
    documents = DocumentTable(spark, str(tmp_path / "table"))

    def assert_rejected(batch: list[Record]) -> None:
        with pytest.raises(Exception) as caught:
            documents.apply(changes(frame(spark, batch)), seen_ms=1)
        fault = mapped_error(caught.value)
        assert isinstance(fault, InputError)
        assert cause in str(fault)

    assert_rejected(records)
    documents.apply(changes(frame(spark, records[:1])), seen_ms=1)
    assert_rejected(records[1:])


def test_document_table_of_another_release_is_rejected(spark: SparkSession, tmp_path: Path) -> None:
    uri = str(tmp_path / "table")
    old = "struct<cluster_ms: bigint, ord: int, is_stream: boolean, step: bigint, offset: bigint>"
    spark.sql(f"CREATE TABLE delta.`{uri}` (position {old}) USING delta")
    with pytest.raises(CheckpointError, match="positions from a different release"):
        DocumentTable(spark, uri)
