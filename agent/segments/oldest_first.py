"""Sets of segments that answer which one is the oldest, without a pass over the others."""

from heapq import heapify, heappop, heappush

from agent.cdc_raw.names import SegmentName, by_age

_MIN_SPARE = 64


class OldestFirst:
    """A set of names. A removed name stays in the heap until it is the oldest, or until half of the
    heap is such names."""

    def __init__(self) -> None:
        self._members: set[SegmentName] = set()
        self._heap: list[tuple[tuple[int, int], SegmentName]] = []
        self._queued: set[SegmentName] = set()

    def __len__(self) -> int:
        return len(self._members)

    def put(self, name: SegmentName, *, is_member: bool) -> None:
        """Adds or removes a name."""
        if not is_member:
            self._members.discard(name)
        elif name not in self._members:
            self._members.add(name)
            if name not in self._queued:
                self._queued.add(name)
                heappush(self._heap, (by_age(name), name))

    @property
    def oldest(self) -> SegmentName | None:
        if len(self._heap) > 2 * len(self._members) + _MIN_SPARE:
            self._heap = [(by_age(name), name) for name in self._members]
            heapify(self._heap)
            self._queued = set(self._members)
        while self._heap:
            name = self._heap[0][1]
            if name in self._members:
                return name
            heappop(self._heap)
            self._queued.discard(name)
        return None
