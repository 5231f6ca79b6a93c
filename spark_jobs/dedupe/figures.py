"""What a run has seen: pure sums over the progress of its micro-batches."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

INPUT, OUTPUT = "dedupe_input", "dedupe_output"
"""Names under which the query observes what goes in and what comes out."""


@dataclass(frozen=True, slots=True)
class Batch:
    """One micro-batch, from Spark's progress. `nodes` are node ids of `cdc.source`."""

    batch_id: int
    at_ms: int
    records: int
    strangers: int
    events: int
    nodes: frozenset[str]
    newest_write_us: int | None
    state_rows: int
    state_bytes: int
    late_rows: int
    duration_ms: int


@dataclass(frozen=True, slots=True)
class Figures:
    """All micro-batches of a run. Times are of the driver's clock, milliseconds since 1970."""

    batches: int = 0
    records: int = 0
    strangers: int = 0
    events: int = 0
    state_rows: int = 0
    state_bytes: int = 0
    newest_write_us: int | None = None
    duration_ms: int = 0
    node_seen_ms: Mapping[str, int] = field(default_factory=dict)

    @property
    def copies_dropped(self) -> int:
        return self.records - self.strangers - self.events

    @property
    def copies_per_event(self) -> float | None:
        """Close to the replication factor while nothing is retried, repaired or silent."""
        return (self.records - self.strangers) / self.events if self.events else None

    def after(self, batch: Batch) -> "Figures":
        """These figures and one more micro-batch."""
        seen = {**self.node_seen_ms, **dict.fromkeys(batch.nodes, batch.at_ms)}
        writes = [us for us in (self.newest_write_us, batch.newest_write_us) if us is not None]
        return replace(
            self,
            batches=self.batches + (batch.records > 0),
            records=self.records + batch.records,
            strangers=self.strangers + batch.strangers,
            events=self.events + batch.events,
            state_rows=batch.state_rows,
            state_bytes=batch.state_bytes,
            newest_write_us=max(writes, default=None),
            duration_ms=self.duration_ms + batch.duration_ms,
            node_seen_ms=seen,
        )

    def silent_ms(self, now_ms: int) -> dict[str, int]:
        """How long each node has brought nothing, the most silent first."""
        silence = {node: max(0, now_ms - seen) for node, seen in self.node_seen_ms.items()}
        return dict(sorted(silence.items(), key=lambda each: (-each[1], each[0])))

    def as_json(self, now_ms: int) -> dict[str, Any]:
        """All figures by name."""
        return {
            "at_ms": now_ms,
            "batches": self.batches,
            "records": self.records,
            "records_without_id": self.strangers,
            "events": self.events,
            "copies_dropped": self.copies_dropped,
            "copies_per_event": self.copies_per_event,
            "state_rows": self.state_rows,
            "state_bytes": self.state_bytes,
            "newest_write_us": self.newest_write_us,
            "replica_silent_ms": self.silent_ms(now_ms),
        }

    def summary(self, now_ms: int, silent_after_ms: int) -> str:
        """What a person reads at the end of a run."""
        copies = self.copies_per_event
        lines = [
            f"records read        {self.records:,}",
            f"events kept         {self.events:,}",
            f"copies dropped      {self.copies_dropped:,}",
            f"copies per event    {'-' if copies is None else f'{copies:.2f}'}",
            f"records without id  {self.strangers:,}",
            f"state rows          {self.state_rows:,}",
            f"micro-batches       {self.batches:,} in {self.duration_ms / 1000:,.1f} s",
        ]
        silent = {n: ms for n, ms in self.silent_ms(now_ms).items() if ms >= silent_after_ms}
        lines.append(f"replicas            {len(self.node_seen_ms):,}, {len(silent):,} silent")
        lines += [f"  {node} silent for {ms / 1000:,.0f} s" for node, ms in silent.items()]
        return "\n".join(lines)


def batch_of(progress: Mapping[str, Any]) -> Batch:
    """A micro-batch out of one `StreamingQueryProgress`."""
    observed = progress["observedMetrics"]
    read, kept = observed.get(INPUT), observed.get(OUTPUT)
    states = progress["stateOperators"]
    return Batch(
        batch_id=progress["batchId"],
        at_ms=_milliseconds(progress["timestamp"]),
        records=read["records"] if read else 0,
        strangers=read["strangers"] if read else 0,
        events=kept["events"] if kept else 0,
        nodes=frozenset(read["nodes"] if read else ()),
        newest_write_us=read["newest_write_us"] if read else None,
        state_rows=sum(state["numRowsTotal"] for state in states),
        state_bytes=sum(state["memoryUsedBytes"] for state in states),
        late_rows=sum(state["numRowsDroppedByWatermark"] for state in states),
        duration_ms=progress["batchDuration"],
    )


def _milliseconds(timestamp: str) -> int:
    moment = datetime.strptime(timestamp, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
    return int(moment.timestamp() * 1000)
