"""Metrics and files of the reporter."""

import json
from pathlib import Path

from prometheus_client import generate_latest

from spark_jobs.dedupe.reporter import Reporter, registry_of
from spark_jobs.dedupe.stats import BatchStats, RunStats
from spark_jobs.options.job import StreamOptions
from tests.support.spark.options import options_of

AT_MS = 1_795_277_866_260
BATCH = BatchStats(4, AT_MS, 10, 1, 3, frozenset("ab"), 7, 8, 150, 2, 1500)


def test_prometheus_names() -> None:
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


def test_files_hold_the_latest_stats(tmp_path: Path) -> None:
    files = [tmp_path / "stats.json", tmp_path / "stats.prom"]
    paths = {"metrics.json.file": str(files[0]), "metrics.prometheus.file": str(files[1])}
    options = options_of(StreamOptions, {"checkpoint": "/c", **paths})
    reporter = Reporter(options, replica_idle_timeout_ms=1)
    reporter.report_run(RunStats(), AT_MS)
    reporter.report_run(RunStats().plus(BATCH), AT_MS)
    assert json.loads(files[0].read_text())["replica_copies_dropped"] == 6
    assert "cdc_dedupe_events_total 3.0" in files[1].read_text()
    assert sorted(tmp_path.iterdir()) == sorted(files)
