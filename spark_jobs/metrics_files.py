"""Writes the statistics of a run to files for monitoring. Replaces each file atomically."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Metric, write_to_textfile

from spark_jobs.options.job import MetricsOptions
from spark_jobs.progress import MicroBatch

_RUN_TEXTS = {
    "reported_timestamp_seconds": "Time of a job's latest report in seconds since 1970, by job.",
    "run_failed": "1 if the latest run of a job has failed, else 0, by job.",
    "batch_seconds": "Duration of the latest micro-batch of a job in seconds, by job.",
    "records_behind": "Unread records after the latest micro-batch, in the topic partition with "
    "the most of them, by job.",
}


def write(
    options: MetricsOptions,
    stats: Mapping[str, Any],
    registry: CollectorRegistry,
    *,
    job: str,
    last: MicroBatch | None = None,
    has_failed: bool = False,
) -> None:
    """Write the statistics as JSON and the registry for Prometheus, to the configured files.

    Also adds the metrics that all jobs share to the registry.
    """
    path = options.metrics_json_file
    if path is not None:
        replace_file(path, json.dumps(dict(stats)) + "\n")
    if options.metrics_prometheus_file is not None:
        add_run(registry, job, time.time(), last, has_failed=has_failed)
        write_to_textfile(str(options.metrics_prometheus_file), _WithoutCreated(registry))


def replace_file(path: Path, text: str) -> None:
    """Write a file atomically."""
    unfinished = path.with_name(f".{path.name}.tmp")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)


def is_configured(options: MetricsOptions) -> bool:
    return options.metrics_json_file is not None or options.metrics_prometheus_file is not None


def add_run(
    registry: CollectorRegistry,
    job: str,
    now_s: float,
    last: MicroBatch | None = None,
    *,
    has_failed: bool,
) -> None:
    """Add the metrics of a run that all jobs share. `now_s` is the time in seconds since 1970."""
    values = {
        "reported_timestamp_seconds": now_s,
        "run_failed": has_failed,
        "batch_seconds": None if last is None else last.duration_s,
        "records_behind": None if last is None else last.records_behind,
    }
    for name, value in values.items():
        if value is not None:
            gauge = Gauge(f"cdc_spark_{name}", _RUN_TEXTS[name], ("spark_job",), registry=registry)
            gauge.labels(job).set(value)


class _WithoutCreated(CollectorRegistry):
    """Wraps a registry and omits the `_created` series of counters.

    The library's switch for these series would also change other metrics of a notebook.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        super().__init__()
        self._collected = registry

    def collect(self) -> Iterator[Metric]:
        for family in self._collected.collect():
            family.samples = [
                sample for sample in family.samples if not sample.name.endswith("_created")
            ]
            yield family


@contextmanager
def final_report(report: Callable[[bool], None]) -> Iterator[None]:
    """Call `report` when the block ends, with True if the block failed."""
    try:
        yield
    except BaseException:
        report(True)
        raise
    report(False)


def counters(
    prefix: str, stats: Mapping[str, int], help_texts: Mapping[str, str]
) -> CollectorRegistry:
    """A registry with one counter for each statistic."""
    registry = CollectorRegistry()
    for name, value in stats.items():
        Counter(prefix + name, help_texts[name], registry=registry).inc(value)
    return registry
