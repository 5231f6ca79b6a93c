"""Prometheus files of a run contain its outcome, and no series about the files themselves."""

import time
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, Counter, generate_latest

from spark_jobs import metrics_files
from spark_jobs.options.job import StreamOptions
from spark_jobs.progress import MicroBatch


def options_with(folder: Path) -> StreamOptions:
    return StreamOptions(
        checkpoint=str(folder / "checkpoint"), metrics_prometheus_file=folder / "job.prom"
    )


def written(folder: Path, *, has_failed: bool = False) -> list[str]:
    registry = CollectorRegistry()
    Counter("cdc_dedupe_records", "Records read.", registry=registry).inc(3)
    metrics_files.write(options_with(folder), {}, registry, job="dedupe", has_failed=has_failed)
    return (folder / "job.prom").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("has_failed", [False, True])
def test_metrics_file_contains_outcome_time_and_counters(tmp_path: Path, has_failed: bool) -> None:
    before = time.time()
    lines = written(tmp_path, has_failed=has_failed)
    values = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    reported = values.pop('cdc_spark_reported_timestamp_seconds{spark_job="dedupe"}')
    assert before <= float(reported) <= time.time()
    # The last micro-batch is optional.
    assert values == {
        "cdc_dedupe_records_total": "3.0",
        'cdc_spark_run_failed{spark_job="dedupe"}': str(float(has_failed)),
    }


def test_metrics_contain_last_micro_batch() -> None:
    registry = CollectorRegistry()
    metrics_files.add_run(registry, "dedupe", 1, MicroBatch(0.5, 7), has_failed=False)
    lines = generate_latest(registry).decode().splitlines()
    assert 'cdc_spark_batch_seconds{spark_job="dedupe"} 0.5' in lines
    assert 'cdc_spark_records_behind{spark_job="dedupe"} 7.0' in lines


def test_run_end_is_reported() -> None:
    outcomes: list[bool] = []
    with metrics_files.final_report(outcomes.append):
        assert outcomes == []
    with pytest.raises(KeyError), metrics_files.final_report(outcomes.append):
        raise KeyError
    assert outcomes == [False, True]
