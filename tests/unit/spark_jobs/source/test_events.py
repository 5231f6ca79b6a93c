"""Events from records: headers as columns, and invalid records."""

import hashlib

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from spark_jobs.errors import InputError, mapped_error
from spark_jobs.source.events import EVENT_COLUMNS, events
from tests.support.spark.records import Header, Record, frame, headers_of

ID = hashlib.sha256(b"an event").digest()[:16]
INVALID_RECORDS: dict[str, tuple[tuple[Header, ...] | None, str]] = {
    "no headers at all": (None, "has no header `cdc.id`"),
    "empty headers": ((), "has no header `cdc.id`"),
    "headers of somebody else": ((("trace", b"1"),), "has no header `cdc.id`"),
    "an id without content": ((("cdc.id", None),), "has no header `cdc.id`"),
    "a longer id": (headers_of(ID * 2), "a header `cdc.id` of 32 bytes instead of 16"),
    "another kind": (headers_of(ID, kind="document"), "the header `cdc.kind` document"),
    "no kind": (headers_of(ID)[:3], "the header `cdc.kind` missing"),
    "a bad time": (
        (*headers_of(ID)[:2], ("cdc.ts_us", b"now"), *headers_of(ID)[3:]),
        "the header `cdc.ts_us` now, not a time in microseconds",
    ),
}


def test_record_headers_become_columns(spark: SparkSession) -> None:
    record = Record(headers_of(ID, node="n2", position=41, ts_us=-7), b"v", b"k", "t.x", 3, 12)
    found = events(frame(spark, [record])).collect()
    assert found[0].asDict(recursive=True) == {
        "id": ID,
        "source": "n2/7/41/0",
        "ts_us": -7,
        "kind": "row",
        "key": b"k",
        "value": b"v",
        "headers": [{"key": name, "value": value} for name, value in record.headers or ()],
        "topic": "t.x",
        "partition": 3,
        "offset": 12,
    }
    assert tuple(found[0].asDict()) == EVENT_COLUMNS


def test_headers_are_found_at_any_position(spark: SparkSession) -> None:
    others = (("trace", b"1"), *reversed(headers_of(ID)), ("cdc.id", b"second"))
    (row,) = events(frame(spark, [Record(others, value=None)])).collect()
    assert (row.id, row.source, row.ts_us, row.kind) == (ID, "n1/7/0/0", 1, "row")
    assert row.value is None


def test_invalid_event_record_error_contains_place(spark: SparkSession) -> None:
    records = [Record(headers_of(ID)), Record(None, partition=2, offset=9)]
    with pytest.raises(PySparkException) as raised:
        events(frame(spark, records)).select("id").collect()
    fault = mapped_error(raised.value)
    assert isinstance(fault, InputError)
    assert str(fault).startswith("The record shop.orders/2/9 has no header `cdc.id`")
    assert "\n" not in str(fault)


def test_invalid_records_can_be_kept(spark: SparkSession) -> None:
    """The column `error` contains the text that would otherwise fail the query."""
    records = [Record(headers, offset=n) for n, (headers, _) in enumerate(INVALID_RECORDS.values())]
    records.append(Record(headers_of(ID), offset=len(records)))
    *invalid, valid = events(frame(spark, records), keep_invalid=True).orderBy("offset").collect()
    assert (valid.id, valid.error, valid.offset) == (ID, None, len(invalid))
    for row, (_, expected) in zip(invalid, INVALID_RECORDS.values(), strict=True):
        assert row.id is None
        assert (
            f"The record shop.orders/0/{row.offset} has {expected.removeprefix('has ')}"
            in row.error
        )
