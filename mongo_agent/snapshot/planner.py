"""Planning before reads: the collections of a request and the bounds of chunks."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from mongo_agent.capture.namespaces import Namespaces
from mongo_agent.server.commands import Client, decode_replies
from mongo_agent.snapshot.collection_reader import CollectionReader
from mongo_agent.snapshot.collections import (
    add_estimates,
    list_captured_collections,
    select_collections,
)
from mongo_agent.snapshot.progress import SnapshotProgress
from mongo_agent.snapshot.records import CollectionSnapshot, SnapshotRequest
from mongo_agent.snapshot.settings import SnapshotSettings
from sidecar.logs import fields

logger = logging.getLogger(__name__)

Plan = Callable[[SnapshotProgress], SnapshotProgress]
"""Adds what was planned to the progress."""
PlanTask = tuple[CollectionSnapshot | None, Callable[[], Plan]]
"""What is planned, and a function for a thread, which raises `PyMongoError`."""


@dataclass(frozen=True)
class Planner:
    """Creates tasks, one at a time; the next follows once the previous plan is applied.

    `is_ready` returns whether a collection may be read and encoded; the planner skips it until
    then. `turns` returns the failures of a collection; collections with fewer failures come first,
    and failing collections are not planned ahead.
    """

    client: Client
    reader: CollectionReader
    namespaces: Namespaces
    settings: SnapshotSettings
    is_ready: Callable[[CollectionSnapshot], bool]
    turns: Callable[[CollectionSnapshot], int]

    def next(self, progress: SnapshotProgress, room: int) -> PlanTask | None:
        """Create the next task, for at most `room` chunks; None if there is nothing to plan."""
        if progress.requests:
            return None, partial(self._resolve, progress.requests[0])
        if room <= 0:
            return None
        unplanned = [
            each
            for each in progress.collections
            if not each.is_planned and not (each.chunks and self.turns(each))
        ]
        snapshot = min(filter(self.is_ready, unplanned), key=self.turns, default=None)
        if snapshot is None:
            return None
        return snapshot, partial(self._find_bounds, snapshot, room)

    def _resolve(self, request: SnapshotRequest) -> Plan:
        with decode_replies():
            found = list_captured_collections(self.client, self.namespaces)
        since = self.reader.cluster_time()
        selected = select_collections(request, found, self.namespaces, self.settings)
        with decode_replies():
            estimated = add_estimates(self.client, selected)
        if not estimated:
            logger.warning(
                "a snapshot request matches no captured collection",
                extra=fields(reason=request.reason.value, names=request.names),
            )
        return lambda progress: progress.resolved(request, estimated, since)

    def _find_bounds(self, snapshot: CollectionSnapshot, limit: int) -> Plan:
        found = self.reader.find_bounds(snapshot, limit)
        return lambda progress: progress.planned(
            snapshot.number, found.bounds, is_whole=found.is_whole
        )
