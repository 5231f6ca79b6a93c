"""The attributes of Debezium's streaming bean for Cassandra, from what this agent counts."""

from collections.abc import Iterator
from typing import Any

from prometheus_client import Counter, Gauge

from agent.cdc_raw import SegmentName
from agent.metrics import AgentMetrics
from agent.pipeline import View

CONNECTOR = "cassandra"

_NO_POSITION = -1


def streaming_attributes(view: View | None, metrics: AgentMetrics) -> dict[str, Any]:
    """By Debezium's names. `view` is None before there is a pipeline: no segment is read yet then,
    which Debezium shows as a null name and the position -1."""
    name = None if view is None else _name(view, int(_value(metrics.read_segment)))
    return {
        "CommitLogFilename": None if name is None else name.log,
        "CommitLogPosition": _NO_POSITION if name is None else int(_value(metrics.read_position)),
        "NumberOfProcessedMutations": int(_value(metrics.mutations)),
        "NumberOfUnrecoverableErrors": int(_value(metrics.quarantined)),
        "CdcDirectoryTotalBytes": 0 if view is None else view.raw_bytes,
    }


def _name(view: View, segment_id: int) -> SegmentName | None:
    """Of the segment that was read last; None before the first one since the start."""
    return next((name for name in _names(view) if name.id == segment_id), None)


def _names(view: View) -> Iterator[SegmentName]:
    yield from (segment.name for segment in view.segments)
    yield from view.ledger.positions
    yield from view.ledger.completed


def _value(metric: Counter | Gauge) -> float:
    """The sum over labels."""
    return sum(
        sample.value
        for family in metric.collect()
        for sample in family.samples
        if not sample.name.endswith("_created")
    )
