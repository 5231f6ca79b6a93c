"""Reports a run while it lasts: log lines, a JSON file, a file for Prometheus."""

import logging

from prometheus_client import CollectorRegistry, Counter, Gauge

from sidecar.logs import RateLimitedLog, fields
from spark_jobs import metrics_files
from spark_jobs.dedupe.stats import BatchStats, RunStats
from spark_jobs.options.job import StreamOptions
from spark_jobs.progress import MicroBatch

logger = logging.getLogger(__name__)

PREFIX = "cdc_dedupe_"


class Reporter:
    """Reports each micro-batch, idle replicas and the statistics of the run."""

    def __init__(self, options: StreamOptions, *, replica_idle_timeout_ms: int) -> None:
        self._options = options
        self._replica_idle_timeout_ms = replica_idle_timeout_ms
        self._idle = RateLimitedLog(logger)

    def report_batch(self, batch: BatchStats, stats: RunStats) -> None:
        """Log a micro-batch, unless it read no record."""
        if not batch.records:
            return
        logger.info(
            "micro-batch done",
            extra=fields(
                batch=batch.batch_id,
                records=batch.records,
                events=batch.events,
                replica_copies_per_event=_rounded(stats.replica_copies_per_event),
                state_rows=batch.state_rows,
                duration_ms=batch.duration_ms,
            ),
        )

    def report_run(
        self,
        stats: RunStats,
        now_ms: int,
        last: MicroBatch | None = None,
        *,
        has_failed: bool = False,
    ) -> None:
        """Log idle replicas, and write all statistics to the files."""
        for node, idle_ms in stats.idle_ms(now_ms).items():
            key = f"idle {node}"
            if idle_ms >= self._replica_idle_timeout_ms:
                self._idle.log(key, "replica is idle", node=node, idle_ms=idle_ms)
            else:
                self._idle.resolved(key, "replica sends records again", node=node)
        metrics_files.write(
            self._options,
            stats.as_json(now_ms),
            registry_of(stats, now_ms),
            job="dedupe",
            last=last,
            has_failed=has_failed,
        )


def registry_of(stats: RunStats, now_ms: int) -> CollectorRegistry:
    """The statistics as metrics of Prometheus."""
    registry = CollectorRegistry()
    counters = {
        "records": (stats.records, "Records read, including replica copies."),
        "events": (stats.events, "Events written, one copy of each."),
        "replica_copies_dropped": (stats.replica_copies_dropped, "Replica copies dropped."),
        "invalid_records": (stats.invalid_records, "Records without the headers of an event."),
        "batches": (stats.batches, "Micro-batches that read at least one record."),
    }
    for name, (value, text) in counters.items():
        Counter(PREFIX + name, text, registry=registry).inc(value)
    gauges = {
        "replica_copies_per_event": (
            stats.replica_copies_per_event,
            "Average replica copies of an event since the start of the run.",
        ),
        "state_rows": (stats.state_rows, "Keys in the state store."),
        "state_bytes": (stats.state_bytes, "Memory of the state store in bytes."),
        "newest_write_timestamp_seconds": (
            None if stats.newest_write_us is None else stats.newest_write_us / 1e6,
            "Largest write time of an event, in seconds since 1970.",
        ),
    }
    for name, (measured, text) in gauges.items():
        if measured is not None:
            Gauge(PREFIX + name, text, registry=registry).set(measured)
    _add_idle(registry, stats, now_ms)
    return registry


def _add_idle(registry: CollectorRegistry, stats: RunStats, now_ms: int) -> None:
    text = "Seconds since the last record of a node, by node id."
    gauge = Gauge(f"{PREFIX}replica_idle_seconds", text, ["node"], registry=registry)
    for node, idle_ms in stats.idle_ms(now_ms).items():
        gauge.labels(node).set(idle_ms / 1000)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
