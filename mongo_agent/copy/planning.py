"""What is done ahead of reading: which collections a request means, and where chunks begin."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from mongo_agent.capture.namespaces import Namespaces
from mongo_agent.copy.catalogue import Client, counted, listed, selection
from mongo_agent.copy.progress import CopyProgress
from mongo_agent.copy.reading import Bounds, CollectionReader
from mongo_agent.copy.records import CollectionCopy, Request, Selected
from mongo_agent.copy.settings import CopySettings


@dataclass(frozen=True, slots=True)
class Resolved:
    """A request, and the collections that it means."""

    request: Request
    selected: tuple[Selected, ...]

    def applied(self, progress: CopyProgress) -> CopyProgress:
        return progress.resolved(self.request, self.selected)


@dataclass(frozen=True, slots=True)
class Planned:
    """Bounds of a collection's next chunks."""

    number: int
    bounds: Bounds

    def applied(self, progress: CopyProgress) -> CopyProgress:
        bounds = self.bounds
        return progress.planned(self.number, bounds.bounds, is_whole=bounds.is_whole)


Plan = Resolved | Planned


@dataclass(frozen=True, slots=True)
class Task:
    """Something to plan, for a thread; `copy` is what it reads. `run` raises `PyMongoError`."""

    copy: CollectionCopy | None
    run: Callable[[], Plan]


class Planner:
    """Gives tasks, one at a time: the next follows when the plan of the last one is applied."""

    def __init__(
        self,
        client: Client,
        reader: CollectionReader,
        namespaces: Namespaces,
        settings: CopySettings,
        is_ready: Callable[[str, str], bool],
    ) -> None:
        """`is_ready` says of a database and collection whether its documents can be encoded:
        before that no chunks of it are planned."""
        self._is_ready = is_ready
        self._client = client
        self._reader = reader
        self._namespaces = namespaces
        self._settings = settings

    def next(self, progress: CopyProgress, room: int) -> Task | None:
        """`room` is for so many chunks more; None when there is nothing to plan."""
        if progress.requests:
            return Task(None, partial(self._resolve, progress.requests[0]))
        if room <= 0:
            return None
        unplanned = (each for each in progress.collections if not each.is_planned)
        ready = (each for each in unplanned if self._is_ready(each.database, each.collection))
        copy = next(ready, None)
        return None if copy is None else Task(copy, partial(self._bounds, copy, room))

    def _resolve(self, request: Request) -> Resolved:
        found = listed(self._client, self._namespaces)
        selected = selection(request, found, self._namespaces, self._settings)
        return Resolved(request, tuple(counted(self._client, selected)))

    def _bounds(self, copy: CollectionCopy, limit: int) -> Planned:
        return Planned(copy.number, self._reader.bounds(copy, limit))
