"""What a run tells while it goes on: log lines, a JSON file, a file for Prometheus."""

import logging

from prometheus_client import CollectorRegistry, Counter, Gauge

from sidecar.logs import RateLimitedLog, fields
from spark_jobs import metrics_files
from spark_jobs.dedupe.figures import Batch, Figures
from spark_jobs.options import StreamOptions

logger = logging.getLogger(__name__)

PREFIX = "cdc_dedupe_"


class Telling:
    """Called after each micro-batch, and at times without one."""

    def __init__(self, options: StreamOptions, *, silent_after_ms: int) -> None:
        self._options = options
        self._silent_after_ms = silent_after_ms
        self._silence = RateLimitedLog(logger)

    def batch(self, batch: Batch, figures: Figures) -> None:
        """One line for a micro-batch that read something."""
        if not batch.records:
            return
        logger.info(
            "micro-batch done",
            extra=fields(
                batch=batch.batch_id,
                records=batch.records,
                events=batch.events,
                copies_per_event=_rounded(figures.copies_per_event),
                state_rows=batch.state_rows,
                duration_ms=batch.duration_ms,
            ),
        )

    def state(self, figures: Figures, now_ms: int) -> None:
        """Silent replicas to the log, all figures to the files."""
        for node, silent_ms in figures.silent_ms(now_ms).items():
            key = f"silent {node}"
            if silent_ms >= self._silent_after_ms:
                self._silence.log(key, "replica is silent", node=node, silent_ms=silent_ms)
            else:
                self._silence.resolved(key, "replica is heard again", node=node)
        metrics_files.write(self._options, figures.as_json(now_ms), registry_of(figures, now_ms))


def registry_of(figures: Figures, now_ms: int) -> CollectorRegistry:
    """The figures under their names in Prometheus."""
    registry = CollectorRegistry()
    counters = {
        "records": (figures.records, "Records read, copies included."),
        "events": (figures.events, "Events kept, one copy of each."),
        "copies_dropped": (figures.copies_dropped, "Further copies."),
        "records_without_id": (figures.strangers, "Records that are no events."),
        "batches": (figures.batches, "Micro-batches that read something."),
    }
    for name, (value, text) in counters.items():
        Counter(PREFIX + name, text, registry=registry).inc(value)
    gauges = {
        "copies_per_event": (figures.copies_per_event, "Since the start of the run."),
        "state_rows": (figures.state_rows, "Keys in the state."),
        "state_bytes": (figures.state_bytes, "Memory of the state."),
        "newest_write_timestamp_seconds": (
            None if figures.newest_write_us is None else figures.newest_write_us / 1e6,
            "Largest write time of an event.",
        ),
    }
    for name, (measured, text) in gauges.items():
        if measured is not None:
            Gauge(PREFIX + name, text, registry=registry).set(measured)
    silent = Gauge(
        f"{PREFIX}replica_silent_seconds",
        "Since a node brought its last record.",
        ["node"],
        registry=registry,
    )
    for node, silent_ms in figures.silent_ms(now_ms).items():
        silent.labels(node).set(silent_ms / 1000)
    return registry


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
