"""Changes in any order and any batches, compared with their collection."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.error_mapping import mapped_error
from spark_jobs.errors import InputError
from spark_jobs.mongo_reconcile.changes import changes
from spark_jobs.mongo_reconcile.document_table import DocumentTable
from spark_jobs.mongo_reconcile.latest import latest
from spark_jobs.mongo_reconcile.options import MongoOptions
from tests.support.spark.mongo_histories import many_histories
from tests.support.spark.mongo_topic import TOPIC, Collection, envelope, record
from tests.support.spark.records import Record, frame

# Each example is some twenty collections.
FEW = settings(
    max_examples=2,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
# What is sent of one document in the order of the topic needs no times.
BY_TOPIC = MongoOptions(order_by="topic")


def expected(collections: list[Collection]) -> dict[tuple[str, str], str]:
    return {
        (f"{collection.db}.cust", key): document
        for collection in collections
        for key, document in collection.documents.items()
    }


def live(rows: DataFrame) -> dict[tuple[str, str], str]:
    found = rows.where("state = 'live'").select("collection", "id", "document").collect()
    return {(collection, key): document for collection, key, document in found}


@FEW
@given(st.data(), many_histories(), st.sampled_from((0, 60_000)))
def test_order_and_repetitions_do_not_matter(
    spark: SparkSession, data: st.DataObject, collections: list[Collection], margin_ms: int
) -> None:
    records = [each for collection in collections for each in collection.records]
    shuffled = data.draw(st.permutations(records * 3))
    options = MongoOptions(snapshot_margin_ms=margin_ms)
    found = latest(changes(frame(spark, shuffled), options))
    assert live(found) == expected(collections)


@FEW
@given(many_histories())
def test_the_order_of_the_topic_returns_the_collection(
    spark: SparkSession, collections: list[Collection]
) -> None:
    records = [each for collection in collections for each in collection.records]
    assert live(latest(changes(frame(spark, records), BY_TOPIC))) == expected(collections)


@settings(FEW, max_examples=1)
@given(st.data(), many_histories())
def test_repeated_batches_return_the_collection(
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    data: st.DataObject,
    collections: list[Collection],
) -> None:
    records = [each for collection in collections for each in collection.records]
    shuffled = data.draw(st.permutations(records))
    middle = data.draw(st.integers(0, len(shuffled)))
    documents = DocumentTable(spark, str(tmp_path_factory.mktemp("documents") / "table"))
    first, second = shuffled[:middle], shuffled[middle:]
    for batch in (first, second, first):
        documents.apply(changes(frame(spark, batch)), seen_ms=1_000)
    assert live(documents.rows()) == expected(collections)


def taken_in(spark: SparkSession, path: Path, batch: list[Record]) -> DocumentTable:
    """The table after one batch that was seen at 1 ms."""
    documents = DocumentTable(spark, str(path))
    documents.apply(changes(frame(spark, batch)), seen_ms=1)
    return documents


def test_deletes_are_purged_after_the_retention(spark: SparkSession, tmp_path: Path) -> None:
    batch = [record(0, "7", envelope("d", None, 5)), record(1, "8", envelope("c", "{}", 5))]
    documents = taken_in(spark, tmp_path / "t", batch)
    for before_ms, ids in ((1, ["7", "8"]), (2, ["8"])):
        documents.purge(before_ms)
        assert [key for (key,) in documents.rows().select("id").orderBy("id").collect()] == ids


def test_a_change_without_the_document_is_unknown(spark: SparkSession, tmp_path: Path) -> None:
    """A later delete or full document makes it known again."""
    update = {"updatedFields": '{"n": "y"}', "removedFields": None, "truncatedArrays": None}
    batch = [
        *(
            record(offset, key, envelope("u", None, 6, updateDescription=update))
            for offset, key in enumerate(("7", "8", "9"))
        ),
        record(3, "7", envelope("c", '{"n": "x"}', 5)),
        record(4, "8", envelope("u", '{"n": "z"}', 7)),
        record(5, "9", envelope("d", None, 7)),
    ]
    documents = taken_in(spark, tmp_path / "t", batch)
    shown = documents.current("shop.cust").orderBy("id").collect()
    assert [tuple(row) for row in shown] == [("7", None, False), ("8", '{"n": "z"}', True)]
    assert documents.counts() == {"shop.cust": {"unknown": 1, "live": 1, "deleted": 1}}


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
    found = latest(changes(frame(spark, records))).select("id", "state").collect()
    assert sorted(map(tuple, found)) == sorted((key, "live") for key in keys)


@pytest.mark.parametrize(
    ("stranger", "cause"),
    [
        (record(7, None, envelope("c", "{}", 5)), "has no document `id` in its key"),
        (record(7, "7", {"status": "BEGIN"}), "its `op` is missing, not one of c, u, d, r"),
        (record(7, "7", envelope("t", None, 5)), "its `op` is t, not one"),
        (record(7, "7", {"op": "c", "after": "{}"}), "lacks `ts_ms`, `db` or `collection`"),
        (Record(None, b"no json", b'{"id": "7"}', TOPIC, 0, 7), "its `op` is missing"),
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
        latest(changes(frame(spark, [stranger]))).collect()
    fault = mapped_error(caught.value)
    assert isinstance(fault, InputError)
    assert "The record L.shop.cust/0/7" in str(fault)
    assert cause in str(fault)
