"""What is done ahead of reading: which collections a request means, and where chunks begin."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from mongo_agent.capture.namespaces import Namespaces
from mongo_agent.snapshot.collection_reader import ChunkBounds, CollectionReader
from mongo_agent.snapshot.collections import (
    Client,
    captured_collections,
    select_collections,
    with_estimates,
)
from mongo_agent.snapshot.progress import SnapshotProgress
from mongo_agent.snapshot.records import CollectionSnapshot, SelectedCollection, SnapshotRequest
from mongo_agent.snapshot.settings import SnapshotSettings


@dataclass(frozen=True, slots=True)
class ResolvedRequest:
    """A request, and the collections that it means."""

    request: SnapshotRequest
    selected: tuple[SelectedCollection, ...]

    def applied(self, progress: SnapshotProgress) -> SnapshotProgress:
        return progress.resolved(self.request, self.selected)


@dataclass(frozen=True, slots=True)
class PlannedChunks:
    """Bounds of a collection's next chunks."""

    number: int
    bounds: ChunkBounds

    def applied(self, progress: SnapshotProgress) -> SnapshotProgress:
        bounds = self.bounds
        return progress.planned(self.number, bounds.bounds, is_whole=bounds.is_whole)


Plan = ResolvedRequest | PlannedChunks


@dataclass(frozen=True, slots=True)
class PlanTask:
    """Something to plan, for a thread; `copy` is what it reads. `run` raises `PyMongoError`."""

    copy: CollectionSnapshot | None
    run: Callable[[], Plan]


class Planner:
    """Gives tasks, one at a time: the next follows when the plan of the last one is applied."""

    def __init__(
        self,
        client: Client,
        reader: CollectionReader,
        namespaces: Namespaces,
        settings: SnapshotSettings,
        is_ready: Callable[[str, str], bool],
    ) -> None:
        """`is_ready` says of a database and collection whether its documents can be encoded:
        before that no chunks of it are planned."""
        self._is_ready = is_ready
        self._client = client
        self._reader = reader
        self._namespaces = namespaces
        self._settings = settings

    def next(self, progress: SnapshotProgress, room: int) -> PlanTask | None:
        """`room` is for so many chunks more; None when there is nothing to plan."""
        if progress.requests:
            return PlanTask(None, partial(self._resolve, progress.requests[0]))
        if room <= 0:
            return None
        unplanned = (each for each in progress.collections if not each.is_planned)
        ready = (each for each in unplanned if self._is_ready(each.database, each.collection))
        copy = next(ready, None)
        return None if copy is None else PlanTask(copy, partial(self._bounds, copy, room))

    def _resolve(self, request: SnapshotRequest) -> ResolvedRequest:
        found = captured_collections(self._client, self._namespaces)
        selected = select_collections(request, found, self._namespaces, self._settings)
        return ResolvedRequest(request, tuple(with_estimates(self._client, selected)))

    def _bounds(self, copy: CollectionSnapshot, limit: int) -> PlannedChunks:
        return PlannedChunks(copy.number, self._reader.bounds(copy, limit))
