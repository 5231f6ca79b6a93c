"""Changes in any order and any batches, compared with their collection."""

import random
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.error_mapping import mapped_error
from spark_jobs.errors import InputError
from spark_jobs.mongo_reconcile.changes import changes
from spark_jobs.mongo_reconcile.document_table import DocumentTable
from spark_jobs.mongo_reconcile.latest import latest
from spark_jobs.mongo_reconcile.options import MongoOptions
from tests.support.spark.mongo_histories import drawn_histories
from tests.support.spark.mongo_topic import TOPIC, Collection, envelope, record
from tests.support.spark.records import Record, frame

HISTORIES = 40
# What is sent of one document in the order of the topic needs no times.
BY_TOPIC = MongoOptions(order_by="topic")


@pytest.fixture(scope="module")
def collections() -> list[Collection]:
    return drawn_histories(HISTORIES)


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


@pytest.mark.parametrize(
    ("options", "copies"),
    [
        pytest.param(MongoOptions(snapshot_margin_ms=0), 3, id="no margin"),
        pytest.param(MongoOptions(snapshot_margin_ms=60_000), 3, id="a margin"),
        pytest.param(BY_TOPIC, 1, id="the order of the topic"),
    ],
)
def test_order_and_repetitions_do_not_matter(
    spark: SparkSession, collections: list[Collection], options: MongoOptions, copies: int
) -> None:
    records = records_of(collections) * copies
    random.shuffle(records)
    assert live(latest(changes(frame(spark, records), options))) == expected(collections)


def test_a_table_over_repeated_batches(
    spark: SparkSession, tmp_path: Path, collections: list[Collection]
) -> None:
    """A change without the document makes it unknown, and a later delete or full document known
    again. Deletes are purged after the retention."""
    update = {"updatedFields": '{"n": "y"}', "removedFields": None, "truncatedArrays": None}
    shop = [
        *(
            record(offset, key, envelope("u", None, 6, updateDescription=update))
            for offset, key in enumerate(("7", "8", "9"))
        ),
        record(3, "7", envelope("c", '{"n": "x"}', 5)),
        record(4, "8", envelope("u", '{"n": "z"}', 7)),
        record(5, "9", envelope("d", None, 7)),
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


def test_payloads_with_schemas_and_every_type_of_key(spark: SparkSession) -> None:
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


@pytest.mark.parametrize(
    ("stranger", "cause"),
    [
        (record(7, None, envelope("c", "{}", 5)), "has no document `id` in its key"),
        (record(7, "7", {"status": "BEGIN"}), "its `op` is missing, not one of c, u, d, r"),
        (record(7, "7", envelope("t", None, 5)), "its `op` is t, not one"),
        (record(7, "7", {"op": "c", "after": "{}"}), "lacks `ts_ms`, `db` or `collection`"),
        (Record(None, b"no json", b'{"id": "7"}', TOPIC, 0, 7), "its `op` is missing"),
        (
            record(7, "7", {**envelope("c", "{}", 5), "transaction": {"total_order": "x"}}),
            "has a key or a value with a member that is not JSON or has another type",
        ),
        (
            Record(None, b"\0\0\0\0\5\2a", b"\0\0\0\0\6\0", TOPIC, 0, 7),
            "is Avro, but mongo_reconcile reads JSON",
        ),
    ],
)
def test_a_record_that_is_not_a_change_is_an_error_with_its_place(
    spark: SparkSession, stranger: Record, cause: str
) -> None:
    with pytest.raises(Exception) as caught:
        changes(frame(spark, [stranger])).collect()
    fault = mapped_error(caught.value)
    assert isinstance(fault, InputError)
    assert "The record L.shop.cust/0/7" in str(fault)
    assert cause in str(fault)
