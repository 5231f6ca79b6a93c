"""The attributes of Debezium's two MBeans for Cassandra, from this agent's metrics."""

from collections.abc import Iterable, Iterator
from typing import Any

from prometheus_client import Counter, Gauge

from agent.cdc_raw.names import SegmentName
from agent.metrics import AgentMetrics
from agent.pipeline.view import View
from agent.snapshot.offsets import State, TableSnapshot

CONNECTOR = "cassandra"

_NO_POSITION = -1


def streaming_attributes(view: View | None, metrics: AgentMetrics) -> dict[str, Any]:
    """Returns attributes by Debezium's names. `view` is None before the pipeline exists. Before the
    first read, Debezium reports a null name and the position -1."""
    names = () if view is None else _names(view)
    segment_id = int(_value(metrics.read_segment))
    name = next((each for each in names if each.id == segment_id), None)
    return {
        "CommitLogFilename": None if name is None else name.log,
        "CommitLogPosition": _NO_POSITION if name is None else int(_value(metrics.read_position)),
        "NumberOfProcessedMutations": int(_value(metrics.mutations)),
        "NumberOfUnrecoverableErrors": int(_value(metrics.quarantined)),
        "CdcDirectoryTotalBytes": 0 if view is None else view.raw_bytes,
    }


def snapshot_attributes(copies: Iterable[TableSnapshot], wall_s: float) -> dict[str, Any]:
    """Returns attributes by Debezium's names. `wall_s` is the time in seconds since 1970. The
    duration covers only running snapshots."""
    known = list(copies)
    states = [copy.state for copy in known]
    running = [copy.started_us for copy in known if copy.state is State.COPYING]
    return {
        "TotalTableCount": len(known),
        "RemainingTableCount": len(running),
        "SnapshotRunning": bool(running),
        "SnapshotCompleted": bool(known) and all(state is State.COMPLETED for state in states),
        "SnapshotAborted": State.STOPPED in states or State.REFUSED in states,
        "SnapshotDurationInSeconds": int(wall_s - min(running) / 1_000_000) if running else 0,
        "RowsScanned": {copy.table: copy.rows for copy in known},
    }


def _names(view: View) -> Iterator[SegmentName]:
    yield from (segment.name for segment in view.all_segments())
    yield from view.ledger.positions
    yield from view.ledger.completed


def _value(metric: Counter | Gauge) -> float:
    """Returns the sum over all labels."""
    return sum(
        sample.value
        for family in metric.collect()
        for sample in family.samples
        if not sample.name.endswith("_created")
    )
