"""Deduplication across micro-batches, restarts and repeated batches."""

import threading
from collections.abc import Mapping, Sequence
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
from tests.support.spark.records import Record, RecordStream, event_id, headers_of

NOW_US = 1_795_277_866_260_102
HOUR_US = 3_600_000_000
MINUTE_US = 60_000_000
INVALID = (Record(None, b"a", offset=1), Record((("x", b"1"),), b"b", offset=2))


def copy(number: int, node: str = "n1", *, ts_us: int = NOW_US, offset: int = 0) -> Record:
    headers = headers_of(event_id(number), node=node, ts_us=ts_us)
    return Record(headers, f'{{"n":{number}}}'.encode(), offset=offset)


@pytest.mark.parametrize(
    ("settings", "invalid"),
    [
        pytest.param({}, (), id="delta's own sink"),
        pytest.param(
            {"invalid_records": "dead-letter", "dead_letter_path": "?"}, INVALID, id="micro-batches"
        ),
    ],
)
def test_dedupe_writes_each_event_once_across_restarts(
    stream: DedupeStream, settings: Mapping[str, str], invalid: Sequence[Record]
) -> None:
    """A late event from one slow replica survives; a watermark on write time would drop it.

    The first run is continuous and stops on request. Before the second, a crash loses the commit of
    the last micro-batch, so Spark repeats it.
    """
    aside = str(stream.folder / "aside")
    given = {name: value.replace("?", aside) for name, value in settings.items()}
    stream.settings = {**given, "trigger": "processing-time", "trigger_interval_ms": "0"}
    fast = [copy(n, "fast", ts_us=NOW_US + n * HOUR_US) for n in range(1, 9)]
    stream.add(*fast, *fast[:4])
    slow = [copy(n, "slow", ts_us=NOW_US + n * HOUR_US) for n in range(1, 9)]
    stream.add(*slow, copy(9, "slow", ts_us=NOW_US - 100 * HOUR_US), *invalid)
    stop = threading.Event()
    sent = 21 + len(invalid)
    stats = stream.run(stop, until=lambda found: found.records == sent)
    before = sorted(stream.rows())
    assert stream.ids() == [event_id(n) for n in range(1, 10)]
    assert {row.value: bytes(row.id) for row in before} == {
        f'{{"n":{n}}}'.encode(): event_id(n) for n in range(1, 10)
    }
    assert (stats.records, stats.events, stats.replica_copies_dropped) == (sent, 9, 12)
    assert stats.replica_copies_per_event == 21 / 9
    assert set(stats.node_seen_ms) == {"fast", "slow"}
    assert stats.newest_write_us == NOW_US + 8 * HOUR_US
    assert stats.state_rows == 9 + len(invalid)

    stream.forget_last_commit()
    stream.settings = given
    stream.add(copy(9, "fast"), copy(10))
    assert stream.run().state_rows == 10 + len(invalid)
    assert [row for row in sorted(stream.rows()) if row in before] == before
    assert stream.ids() == [event_id(n) for n in range(1, 11)]
    if invalid:
        assert stats.invalid_records == 2
        found = stream.spark.read.format("delta").load(aside).orderBy("offset").collect()
        assert [(row.value, row.offset) for row in found] == [(b"a", 1), (b"b", 2)]
        assert [row.headers and [tuple(each) for each in row.headers] for row in found] == [
            None,
            [("x", b"1")],
        ]


def test_invalid_record_fails_query_before_any_write(stream: DedupeStream) -> None:
    stream.add(copy(1))
    stream.add(copy(2), Record(None, offset=7))
    for _ in range(2):
        with pytest.raises(InputError, match=r"The record shop\.orders/0/7 has no header"):
            stream.run()
    assert stream.ids() == [event_id(1)]


def test_replica_copy_is_dropped_only_within_ttl(spark: SparkSession, tmp_path: Path) -> None:
    """The test sets the times: 90 and 121 minutes after the first record, then back. Spark would
    drop the rows of the last micro-batch as late."""
    records = RecordStream(spark, tmp_path / "records")
    for number, minute in ((1, 0), (1, 90), (2, 121), (3, 122), (1, 123), (4, 1)):
        records.add([copy(number, ts_us=NOW_US + minute * MINUTE_US)])
    options = DedupeOptions(ttl_ms=2 * 3600 * 1000)
    once = dedupe(events(records.read()), options, seen_at=F.timestamp_micros("ts_us"))
    query = (
        once.writeStream.format("memory")
        .queryName("within_ttl")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    with pytest.raises(JobError, match="Micro-batch 5 dropped 1 records, because the driver's"):
        follow(query, lambda progress: reject_late_rows(batch_stats(progress)))
    found = spark.table("within_ttl").collect()
    minute_of = {(row.ts_us - NOW_US) // MINUTE_US: bytes(row.id) for row in found}
    assert minute_of == {0: event_id(1), 121: event_id(2), 122: event_id(3), 123: event_id(1)}
    removed = sum(each["stateOperators"][0]["numRowsRemoved"] for each in query.recentProgress)
    assert removed == 1


def test_event_with_only_known_cells_is_dropped(stream: DedupeStream) -> None:
    """A repair sends rows of SSTables, which combine old statements in new events."""

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
