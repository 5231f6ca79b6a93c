"""Sums up the micro-batches of a run, and reports the statistics in log lines and files."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from prometheus_client import CollectorRegistry, Gauge

from sidecar.logs import RateLimitedLog, fields
from spark_jobs import metrics_files
from spark_jobs.dedupe.options import DedupeJobOptions
from spark_jobs.progress import MicroBatch

INPUT, OUTPUT = "dedupe_input", "dedupe_output"
"""Names of the metrics that the query observes before and after deduplication."""
logger = logging.getLogger(__name__)
PREFIX = "cdc_dedupe_"
_COUNTERS = {
    "records": "Records read, including replica copies.",
    "events": "Events written, one copy of each.",
    "replica_copies_dropped": "Replica copies dropped.",
    "invalid_records": "Records without the headers of an event.",
    "batches": "Micro-batches that read at least one record.",
}
_NAMES = (
    *("batches", "records", "invalid_records", "events", "replica_copies_dropped"),
    *("replica_copies_per_event", "state_rows", "state_bytes", "newest_write_us"),
)
"""Names of the statistics in JSON."""


@dataclass(frozen=True, slots=True)
class BatchStats:
    """One micro-batch, from Spark's progress. `nodes` are the node ids in `cdc.source`."""

    batch_id: int
    at_ms: int
    records: int
    invalid_records: int
    events: int
    nodes: frozenset[str]
    newest_write_us: int | None
    state_rows: int
    state_bytes: int
    late_rows: int
    duration_ms: int


@dataclass(frozen=True, slots=True)
class RunStats:
    """All micro-batches of a run. Times are from the driver's clock, in milliseconds since 1970."""

    batches: int = 0
    records: int = 0
    invalid_records: int = 0
    events: int = 0
    state_rows: int = 0
    state_bytes: int = 0
    newest_write_us: int | None = None
    duration_ms: int = 0
    node_seen_ms: Mapping[str, int] = field(default_factory=dict)

    @property
    def replica_copies_dropped(self) -> int:
        return self.records - self.invalid_records - self.events

    @property
    def replica_copies_per_event(self) -> float | None:
        """Near the replication factor, unless there are retries, repairs or idle replicas."""
        return (self.records - self.invalid_records) / self.events if self.events else None

    def plus(self, batch: BatchStats) -> "RunStats":
        seen = {**self.node_seen_ms, **dict.fromkeys(batch.nodes, batch.at_ms)}
        writes = [us for us in (self.newest_write_us, batch.newest_write_us) if us is not None]
        return replace(
            self,
            batches=self.batches + (batch.records > 0),
            records=self.records + batch.records,
            invalid_records=self.invalid_records + batch.invalid_records,
            events=self.events + batch.events,
            state_rows=batch.state_rows,
            state_bytes=batch.state_bytes,
            newest_write_us=max(writes, default=None),
            duration_ms=self.duration_ms + batch.duration_ms,
            node_seen_ms=seen,
        )

    def idle_ms(self, now_ms: int) -> dict[str, int]:
        """Time since the last record of each node, longest first."""
        idle = {node: max(0, now_ms - seen) for node, seen in self.node_seen_ms.items()}
        return dict(sorted(idle.items(), key=lambda each: (-each[1], each[0])))

    def as_json(self, now_ms: int) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in _NAMES}
        return {"at_ms": now_ms, **values, "replica_idle_ms": self.idle_ms(now_ms)}

    def summary(self, now_ms: int, idle_timeout_ms: int) -> str:
        """The text that the job prints at the end of a run."""
        copies = self.replica_copies_per_event
        idle = {n: ms for n, ms in self.idle_ms(now_ms).items() if ms >= idle_timeout_ms}
        lines = [
            f"records read              {self.records:,}",
            f"events written            {self.events:,}",
            f"replica copies dropped    {self.replica_copies_dropped:,}",
            f"replica copies per event  {'-' if copies is None else f'{copies:.2f}'}",
            f"invalid records           {self.invalid_records:,}",
            f"state rows                {self.state_rows:,}",
            f"micro-batches             {self.batches:,} in {self.duration_ms / 1000:,.1f} s",
            f"replicas                  {len(self.node_seen_ms):,}, {len(idle):,} idle",
        ]
        lines += [f"  {node} idle for {ms / 1000:,.0f} s" for node, ms in idle.items()]
        return "\n".join(lines)


def batch_stats(progress: Mapping[str, Any]) -> BatchStats:
    """The statistics of one `StreamingQueryProgress`."""
    observed = progress["observedMetrics"]
    read, written = observed.get(INPUT), observed.get(OUTPUT)
    states = progress["stateOperators"]
    return BatchStats(
        batch_id=progress["batchId"],
        at_ms=int(datetime.fromisoformat(progress["timestamp"]).timestamp() * 1000),
        records=read["records"] if read else 0,
        invalid_records=read["invalid_records"] if read else 0,
        events=written["events"] if written else 0,
        nodes=frozenset(read["nodes"] if read else ()),
        newest_write_us=read["newest_write_us"] if read else None,
        state_rows=sum(state["numRowsTotal"] for state in states),
        state_bytes=sum(state["memoryUsedBytes"] for state in states),
        late_rows=sum(state["numRowsDroppedByWatermark"] for state in states),
        duration_ms=progress["batchDuration"],
    )


class Reporter:
    """Reports each micro-batch, idle replicas and the statistics of the run."""

    def __init__(self, options: DedupeJobOptions) -> None:
        self._options = options
        self._idle = RateLimitedLog(logger)

    def report_batch(self, batch: BatchStats, stats: RunStats) -> None:
        """Log a micro-batch, unless it read no record."""
        if not batch.records:
            return
        copies = stats.replica_copies_per_event
        logger.info(
            "micro-batch done",
            extra=fields(
                batch=batch.batch_id,
                records=batch.records,
                events=batch.events,
                replica_copies_per_event=None if copies is None else round(copies, 3),
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
            if idle_ms >= self._options.replica_idle_timeout_ms:
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
    counts = {name: getattr(stats, name) for name in _COUNTERS}
    registry = metrics_files.counters(PREFIX, counts, _COUNTERS)
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
    text = "Seconds since the last record of a node, by node id."
    idle = Gauge(f"{PREFIX}replica_idle_seconds", text, ["node"], registry=registry)
    for node, idle_ms in stats.idle_ms(now_ms).items():
        idle.labels(node).set(idle_ms / 1000)
    return registry
