"""The attributes of Debezium's two MBeans, computed from this agent's metrics."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from mongo_agent.metrics import MongoMetrics
from mongo_agent.pipeline.batches import MessageSummary
from mongo_agent.pipeline.view import View
from sidecar.page.summary import samples_of

CONNECTOR = "mongodb"

_KINDS_OF_CHANGES = ("insert", "update", "replace", "delete")
_NEVER_MS = -1


def attributes_of(view: View | None, metrics: MongoMetrics) -> dict[str, dict[str, Any]]:
    """Compute the attributes by MBean context; empty until there is a pipeline."""
    if view is None:
        return {}
    counts, wall_s = _counts(metrics), time.time()
    return {
        "snapshot": {**_snapshot(view, counts, wall_s), **_shared(view, metrics)},
        "streaming": {**_streaming(view, counts, wall_s), **_shared(view, metrics)},
    }


def _shared(view: View, metrics: MongoMetrics) -> dict[str, Any]:
    tables = {collection for collection, _ in _samples(metrics) if collection}
    return {
        "CapturedTables": sorted(tables),
        "MonitoredTables": sorted(tables),
        "NumberOfEventsFiltered": sum(count for _, count in samples_of(metrics.skipped_events)),
        "NumberOfErroneousEvents": sum(count for _, count in samples_of(metrics.quarantined)),
        "NumberOfDisconnects": sum(stream.state.reopenings for stream in view.streams),
        "QueueTotalCapacity": view.delivery.window_limit_events,
        "QueueRemainingCapacity": max(
            0, view.delivery.window_limit_events - view.delivery.unacknowledged_events
        ),
        "MaxQueueSizeInBytes": view.delivery.window_limit_bytes,
        "CurrentQueueSizeInBytes": view.delivery.window_bytes,
    }


def _last(seen: Iterable[MessageSummary | None], wall_s: float) -> dict[str, Any]:
    """Describe the latest message of all streams."""
    last = max(filter(None, seen), key=lambda each: each.at_s, default=None)
    if last is None:
        return {"LastEvent": None, "MilliSecondsSinceLastEvent": _NEVER_MS}
    since_ms = max(0, int((wall_s - last.at_s) * 1000))
    return {"LastEvent": last.text, "MilliSecondsSinceLastEvent": since_ms}


def _snapshot(view: View, counts: Mapping[str, int], wall_s: float) -> dict[str, Any]:
    snapshots = [stream.snapshot for stream in view.streams]
    rows = {
        each.collection: each.documents for snapshot in snapshots for each in snapshot.collections
    }
    is_aborted = any(snapshot.is_aborted for snapshot in snapshots)
    return {
        **_last((stream.last_snapshotted for stream in view.streams), wall_s),
        "TotalNumberOfEventsSeen": counts["read"],
        "TotalNumberOfReadEventsSeen": counts["read"],
        "TotalTableCount": view.remaining_collections
        + sum(snapshot.finished_collections for snapshot in snapshots),
        "RemainingTableCount": view.remaining_collections,
        "SnapshotRunning": view.is_snapshot_running,
        "SnapshotPaused": view.is_snapshot_paused,
        "SnapshotAborted": is_aborted,
        "SnapshotCompleted": not is_aborted
        and bool(snapshots)
        and all(snapshot.initial == "done" for snapshot in snapshots),
        "SnapshotDurationInSeconds": int(view.snapshot_clock.running_s),
        "SnapshotPausedDurationInSeconds": int(view.snapshot_clock.paused_s),
        "RowsScanned": rows,
    }


def _streaming(view: View, counts: Mapping[str, int], wall_s: float) -> dict[str, Any]:
    transactions = [stream.last_transaction for stream in view.streams if stream.last_transaction]
    return {
        "Connected": bool(view.streams) and all(stream.state.is_open for stream in view.streams),
        **_last((stream.last_streamed for stream in view.streams), wall_s),
        "MilliSecondsBehindSource": int(view.lag_s * 1000),
        "TotalNumberOfEventsSeen": sum(counts[kind] for kind in _KINDS_OF_CHANGES),
        "TotalNumberOfCreateEventsSeen": counts["insert"],
        "TotalNumberOfUpdateEventsSeen": counts["update"] + counts["replace"],
        "TotalNumberOfDeleteEventsSeen": counts["delete"],
        "TotalNumberOfReadEventsSeen": 0,
        # Each transaction has one message for its beginning and one for its end.
        "NumberOfCommittedTransactions": counts["transaction"] // 2,
        "LastTransactionId": transactions[-1] if transactions else None,
        "SourceEventPosition": {stream.name: str(stream.read_time) for stream in view.streams},
        "NumberOfPrimaryElections": view.elections,
    }


def _counts(metrics: MongoMetrics) -> Counter[str]:
    counts: Counter[str] = Counter()
    for (_, kind), count in _samples(metrics).items():
        counts[kind] += count
    return counts


def _samples(metrics: MongoMetrics) -> dict[tuple[str, str], int]:
    return {
        (labels["collection"], labels["kind"]): count
        for labels, count in samples_of(metrics.events)
    }
