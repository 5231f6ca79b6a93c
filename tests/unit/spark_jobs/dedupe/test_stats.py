"""Statistics of a dedupe run."""

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import generate_latest

from spark_jobs.dedupe.stats import BatchStats, Reporter, RunStats, batch_stats, registry_of
from tests.support.spark.dedupe_stream import job_options

AT_MS = 1_795_277_866_260
PROGRESS = {
    "batchId": 4,
    "timestamp": "2026-11-21T16:17:46.260Z",
    "batchDuration": 1500,
    "observedMetrics": {
        "dedupe_input": {
            "records": 10,
            "invalid_records": 1,
            "nodes": ["a", "b"],
            "newest_write_us": 7,
        },
        "dedupe_output": {"events": 3},
    },
    "stateOperators": [
        {"numRowsTotal": 5, "memoryUsedBytes": 100, "numRowsDroppedByWatermark": 0},
        {"numRowsTotal": 3, "memoryUsedBytes": 50, "numRowsDroppedByWatermark": 2},
    ],
}
BATCH = BatchStats(4, AT_MS, 10, 1, 3, frozenset("ab"), 7, 8, 150, 2, 1500)


def test_batch_stats_are_read_from_spark_progress() -> None:
    assert batch_stats(PROGRESS) == BATCH
    idle = batch_stats({**PROGRESS, "observedMetrics": {}, "stateOperators": []})
    assert (idle.records, idle.events, idle.nodes) == (0, 0, frozenset())
    assert idle.newest_write_us is None


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50), st.sampled_from("abc"))))
def test_run_stats_sum_batches(parts: list[tuple[int, int, str]]) -> None:
    stats = RunStats()
    for number, (events, copies, node) in enumerate(parts):
        at_ms = AT_MS + number
        records = events + copies
        batch = BatchStats(number, at_ms, records, 0, events, frozenset(node), number, 1, 1, 0, 10)
        stats = stats.plus(batch)
    events, copies = sum(part[0] for part in parts), sum(part[1] for part in parts)
    assert (stats.events, stats.replica_copies_dropped) == (events, copies)
    assert stats.replica_copies_per_event == ((events + copies) / events if events else None)
    last_of = {node: AT_MS + number for number, (*_, node) in enumerate(parts)}
    assert stats.node_seen_ms == last_of
    assert stats.newest_write_us == (len(parts) - 1 if parts else None)


def test_longest_idle_replica_is_listed_first() -> None:
    stats = RunStats(node_seen_ms={"a": AT_MS - 10, "b": AT_MS - 7_200_000, "c": AT_MS + 5})
    assert stats.idle_ms(AT_MS) == {"b": 7_200_000, "a": 10, "c": 0}
    assert "3, 1 idle\n  b idle for 7,200 s" in stats.summary(AT_MS, 3_600_000)


def test_run_without_events_has_summary() -> None:
    assert "replica copies per event  -" in RunStats().summary(AT_MS, 1)


AT_MS = 1_795_277_866_260
BATCH = BatchStats(4, AT_MS, 10, 1, 3, frozenset("ab"), 7, 8, 150, 2, 1500)


def test_dedupe_metrics_have_documented_names() -> None:
    text = generate_latest(registry_of(RunStats().plus(BATCH), AT_MS + 2000)).decode()
    for line in (
        "cdc_dedupe_records_total 10.0",
        "cdc_dedupe_events_total 3.0",
        "cdc_dedupe_replica_copies_dropped_total 6.0",
        "cdc_dedupe_invalid_records_total 1.0",
        "cdc_dedupe_replica_copies_per_event 3.0",
        "cdc_dedupe_state_rows 8.0",
        'cdc_dedupe_replica_idle_seconds{node="a"} 2.0',
    ):
        assert line in text


def test_metrics_files_contain_latest_stats(tmp_path: Path) -> None:
    files = [tmp_path / "stats.json", tmp_path / "stats.prom"]
    paths = {"metrics.json.file": str(files[0]), "metrics.prometheus.file": str(files[1])}
    options = job_options(checkpoint="/c", **paths, **{"sink.delta.path": "/t"})
    reporter = Reporter(options)
    reporter.report_run(RunStats(), AT_MS)
    reporter.report_run(RunStats().plus(BATCH), AT_MS)
    assert json.loads(files[0].read_text())["replica_copies_dropped"] == 6
    assert "cdc_dedupe_events_total 3.0" in files[1].read_text()
    assert sorted(tmp_path.iterdir()) == sorted(files)
