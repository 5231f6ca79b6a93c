"""Deduplication over micro-batches, restarts and repeated batches."""

import threading
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.dedupe.job import reject_late_rows
from spark_jobs.dedupe.options import DedupeOptions
from spark_jobs.dedupe.replica_copies import dedupe
from spark_jobs.dedupe.stats import batch_stats
from spark_jobs.errors import InputError, JobError
from spark_jobs.progress import follow
from spark_jobs.source.events import events
from tests.support.spark.dedupe_stream import DedupeStream
from tests.support.spark.records import Record, RecordStream, headers_of

NOW_US = 1_795_277_866_260_102
HOUR_US = 3_600_000_000
SINKS = {
    "delta's own sink": {},
    "micro-batches": {"invalid_records": "dead-letter", "dead_letter_path": "?"},
}


def event_id(number: int) -> bytes:
    return number.to_bytes(16)


def copy(number: int, node: str = "n1", *, ts_us: int = NOW_US, offset: int = 0) -> Record:
    headers = headers_of(event_id(number), node=node, ts_us=ts_us)
    return Record(headers, f'{{"n":{number}}}'.encode(), offset=offset)


def test_the_only_copy_of_a_slow_replica_survives(stream: DedupeStream) -> None:
    """A watermark on write time would silently drop this copy."""
    stream.add(*(copy(n, "fast", ts_us=NOW_US + n * HOUR_US) for n in range(1, 20)))
    stream.add(*(copy(n, "slow", ts_us=NOW_US + n * HOUR_US) for n in range(1, 20)))
    stream.add(copy(20, "slow", ts_us=NOW_US - 100 * HOUR_US), copy(3, "slow"))
    stats = stream.run()
    assert stream.ids() == [event_id(n) for n in range(1, 21)]
    assert (stats.records, stats.events, stats.replica_copies_dropped) == (40, 20, 20)
    assert stats.replica_copies_per_event == 2.0
    assert set(stats.node_seen_ms) == {"fast", "slow"}
    assert stats.newest_write_us == NOW_US + 19 * HOUR_US
    assert stats.state_rows == 20


def test_replica_copies_are_dropped_in_and_across_micro_batches(stream: DedupeStream) -> None:
    stream.add(*(copy(1, f"n{n % 3}", offset=n) for n in range(4)), copy(2))
    stream.add(*(copy(1, f"n{n % 3}", offset=n) for n in range(3)))
    stats = stream.run()
    assert stream.ids() == [event_id(1), event_id(2)]
    assert {bytes(row.value) for row in stream.rows()} == {b'{"n":1}', b'{"n":2}'}
    assert stats.replica_copies_per_event == 4.0


def test_the_state_survives_a_restart(stream: DedupeStream) -> None:
    stream.add(copy(1), copy(2))
    stream.run()
    stream.add(copy(2, "n2"), copy(3, "n2"))
    assert stream.run().events == 1
    assert stream.ids() == [event_id(1), event_id(2), event_id(3)]


def test_a_copy_within_the_ttl_is_dropped_and_a_later_one_is_an_event(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The test sets the times: 90 and 121 minutes after the first."""
    records = RecordStream(spark, tmp_path / "records")
    table = str(tmp_path / "table")
    minutes = [(1, 0), (2, 30), (1, 90), (3, 121), (4, 122), (1, 123)]
    for number, minute in minutes:
        records.add([copy(number, ts_us=NOW_US + minute * 60_000_000)])
    once = dedupe(
        events(records.read()),
        DedupeOptions(ttl_ms=2 * 3600 * 1000),
        seen_at=F.timestamp_micros("ts_us"),
    )
    query = (
        once.writeStream.format("delta")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(table)
    )
    query.awaitTermination()
    found = spark.read.format("delta").load(table).collect()
    minute_of = {(row.ts_us - NOW_US) // 60_000_000: bytes(row.id) for row in found}
    assert minute_of == {
        0: event_id(1),
        30: event_id(2),
        121: event_id(3),
        122: event_id(4),
        123: event_id(1),
    }
    removed = sum(each["stateOperators"][0]["numRowsRemoved"] for each in query.recentProgress)
    assert removed == 1


@pytest.mark.parametrize("way", SINKS)
def test_a_repeated_micro_batch_is_not_written_again(stream: DedupeStream, way: str) -> None:
    aside = stream.folder / "aside"
    stream.settings = {k: v.replace("?", str(aside)) for k, v in SINKS[way].items()}
    stream.add(copy(1), copy(2), copy(1, "n2"))
    stream.run()
    before = sorted(stream.rows())
    stream.forget_last_commit()
    stream.add(copy(2, "n2"), copy(3))
    stream.run()
    assert [row for row in sorted(stream.rows()) if row in before] == before
    assert stream.ids() == [event_id(1), event_id(2), event_id(3)]


def test_invalid_records_go_to_the_dead_letter_table(
    stream: DedupeStream, spark: SparkSession
) -> None:
    aside = stream.folder / "aside"
    stream.settings = {"invalid_records": "dead-letter", "dead_letter_path": str(aside)}
    invalid = [Record(None, b"a", offset=1), Record((("x", b"1"),), b"b", offset=2)]
    stream.add(copy(1), *invalid, copy(1, "n2"))
    stats = stream.run()
    assert (stats.invalid_records, stats.events, stats.replica_copies_per_event) == (2, 1, 2.0)
    assert stream.ids() == [event_id(1)]
    found = spark.read.format("delta").load(str(aside)).orderBy("offset").collect()
    assert [(row.value, row.offset) for row in found] == [(b"a", 1), (b"b", 2)]
    assert [row.headers and [tuple(each) for each in row.headers] for row in found] == [
        None,
        [("x", b"1")],
    ]


def test_an_invalid_record_fails_the_query_before_any_write(stream: DedupeStream) -> None:
    stream.add(copy(1))
    stream.run()
    stream.add(copy(2), Record(None, offset=7))
    for _ in range(2):
        with pytest.raises(InputError, match=r"The record shop\.orders/0/7 has no header"):
            stream.run()
    assert stream.ids() == [event_id(1)]


def test_a_clock_that_goes_back_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    """Spark would drop the rows as late. The test sets the times."""
    records = RecordStream(spark, tmp_path / "records")
    records.add([copy(1)])
    records.add([copy(2, ts_us=NOW_US + HOUR_US)])
    records.add([copy(3, ts_us=NOW_US - HOUR_US)])
    options = DedupeOptions(ttl_ms=3600 * 1000)
    once = dedupe(events(records.read()), options, seen_at=F.timestamp_micros("ts_us"))
    query = (
        once.writeStream.format("noop")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    with pytest.raises(JobError, match="Micro-batch 2 dropped 1 records, because the driver's"):
        follow(query, lambda progress: reject_late_rows(batch_stats(progress)))


def test_a_continuous_run_stops_on_request(stream: DedupeStream) -> None:
    stream.settings = {"trigger": "processing-time", "trigger_interval_ms": "0"}
    stream.add(copy(1), copy(1, "n2"))
    stop = threading.Event()
    stats = stream.run(stop, until=lambda found: found.records == 2)
    assert (stats.records, stats.events) == (2, 1)
    assert stream.ids() == [event_id(1)]


def test_known_cells_in_a_new_event_are_dropped(stream: DedupeStream) -> None:
    """A repair writes rows of SSTables, which combine old statements in new events."""

    def bundle(number: int, *cells: tuple[str, int]) -> Record:
        listed = ",".join(f'{{"col":"{col}","ts":{ts},"val":"YQ=="}}' for col, ts in cells)
        cells_text = f'{{"kind":"row","id":"t","pk":"AA==","ck":"","cell":[{listed}]}}'
        return Record(headers_of(event_id(number)), f'{{"cells":{cells_text}}}'.encode())

    stream.settings = {"identity": "cell"}
    first, second = bundle(1, ("a", 1), ("b", 1)), bundle(2, ("a", 2))
    stream.add(first, second, first)
    stream.add(bundle(3, ("a", 2), ("b", 1)), second, bundle(4, ("a", 2), ("c", 1)))
    stats = stream.run()
    assert stream.ids() == [event_id(1), event_id(2), event_id(4)]
    assert (stats.records, stats.events) == (6, 3)
