"""Statistics of a run in files for monitoring. Each file is replaced atomically."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Metric, write_to_textfile


class MetricsOptions(Protocol):
    """The options of the files; None writes none."""

    @property
    def metrics_json_file(self) -> Path | None: ...
    @property
    def metrics_prometheus_file(self) -> Path | None: ...


def write(
    options: MetricsOptions,
    stats: Mapping[str, Any],
    registry: CollectorRegistry,
    *,
    job: str,
    has_failed: bool = False,
) -> None:
    """Write the statistics as JSON and the registry for Prometheus, to the configured files.

    The registry also gets the time of the report and the outcome of the run of `job`.
    """
    path = options.metrics_json_file
    if path is not None:
        unfinished = path.with_name(f".{path.name}.tmp")
        unfinished.write_text(json.dumps(dict(stats)) + "\n", encoding="utf-8")
        unfinished.replace(path)
    if options.metrics_prometheus_file is not None:
        add_run(registry, job, time.time(), has_failed=has_failed)
        write_to_textfile(str(options.metrics_prometheus_file), _WithoutCreated(registry))


def add_run(registry: CollectorRegistry, job: str, now_s: float, *, has_failed: bool) -> None:
    """Add the metrics of a run that all jobs have. `now_s` counts from 1970."""
    reported = Gauge(
        "cdc_spark_reported_timestamp_seconds",
        "Time of the last report of a job in seconds since 1970, by job.",
        ("spark_job",),
        registry=registry,
    )
    failed = Gauge(
        "cdc_spark_run_failed",
        "1 after the last run of a job has failed, else 0, by job.",
        ("spark_job",),
        registry=registry,
    )
    reported.labels(job).set(now_s)
    failed.labels(job).set(has_failed)


class _WithoutCreated(CollectorRegistry):
    """What another registry collects, without the time series `_created` of counters.

    The switch of the library for these series would change other metrics of a notebook too.
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
