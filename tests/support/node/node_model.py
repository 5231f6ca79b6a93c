"""A node as the format notes §7 describe it, in memory: what its `cdc_raw` shows over time."""

from dataclasses import dataclass, field

from agent.cdc_raw.idx import Idx
from agent.cdc_raw.names import SegmentName
from agent.cdc_raw.observation import Observation, ObservedLog, ObservedSegment

VERSION = 7
HEADER_BYTES = 20
RECORD_BYTES = 10
MARKER_BYTES = 8
FILE_BYTES = 1000


@dataclass
class Content:
    """The inode of a segment. A record is the position of its end."""

    name: SegmentName
    records: list[int] = field(default_factory=list)
    changes: set[int] = field(default_factory=set)
    """Records of tables with `cdc = true`."""
    end: int = HEADER_BYTES
    sections: list[int] = field(default_factory=list)
    """Ends of the sections that are chained."""
    in_commitlog: bool = True

    @property
    def chain_end(self) -> int:
        return self.sections[-1] if self.sections else 0

    def write(self, change: bool) -> None:
        if not self.records or self.records[-1] <= self.chain_end:
            self.end += MARKER_BYTES
        self.end += RECORD_BYTES
        self.records.append(self.end)
        if change:
            self.changes.add(self.end)

    def chain(self) -> None:
        if self.end > self.chain_end:
            self.sections.append(self.end)

    def forget_unchained(self) -> None:
        self.records = [record for record in self.records if record <= self.chain_end]
        self.changes &= set(self.records)

    def read(self, position: int, limit: int | None, at_most: int) -> tuple[list[int], int, bool]:
        """Records behind `position` in sections that end by `limit`, where reading goes on, and
        whether that is the end."""
        ends = [end for end in self.sections if limit is None or end <= limit]
        readable = [r for r in self.records if position < r <= (ends[-1] if ends else 0)]
        taken = readable[:at_most]
        at_end = len(taken) == len(readable)
        end = max([position, *taken, *(ends[-1:] if at_end else [])])
        return taken, end, at_end


class Node:
    """Writes, syncs, closes, discards, stops, dies and starts again."""

    def __init__(self) -> None:
        self.clock = 1000
        self.logs: dict[SegmentName, Content] = {}
        """Links in cdc_raw."""
        self.indexes: dict[SegmentName, Idx] = {}
        self.commitlog: list[Content] = []
        self.all: list[Content] = []
        self.is_up = False
        self.dropped: set[SegmentName] = set()
        """Segments that the node removed from cdc_raw with changes in them."""
        self.start()

    @property
    def active(self) -> Content:
        return self.commitlog[-2]

    def observation(self) -> Observation:
        seen = [
            ObservedSegment(
                name,
                log=ObservedLog(FILE_BYTES, 1 + content.in_commitlog) if content else None,
                idx=self.indexes.get(name, Idx()),
            )
            for name in sorted(self.logs.keys() | self.indexes.keys())
            for content in [self.logs.get(name)]
        ]
        return Observation(tuple(seen))

    def write(self, change: bool) -> None:
        self.active.write(change)

    def chain(self) -> None:
        """The marker-only update of every 100 ms."""
        self.active.chain()

    def sync(self) -> None:
        self.active.chain()
        self._index(self.active, completed=False)

    def advance(self) -> None:
        """The active segment is full: the spare one becomes active, then it is closed."""
        full = self.active
        self._create()
        self._close(full)

    def discard_oldest(self) -> None:
        """All tables of the oldest closed segment are flushed."""
        if len(self.commitlog) < 3:
            return
        oldest = self.commitlog.pop(0)
        oldest.in_commitlog = False
        if not oldest.changes:
            self.logs.pop(oldest.name, None)
            self.indexes.pop(oldest.name, None)

    def drop(self, name: SegmentName | None = None) -> None:
        """What `cdc_block_writes: false` does to the oldest segment when `cdc_raw` is full, and
        what a person can do to any."""
        name = name or min(self.logs, default=None)
        if name in self.logs:
            self.dropped.add(name)
            del self.logs[name]
            self.indexes.pop(name, None)

    def kill(self) -> None:
        for content in self.commitlog:
            content.forget_unchained()
        self.is_up = False

    def stop(self) -> None:
        """A clean stop: the active segment is closed, the spare one remains as an orphan."""
        spare = self.commitlog.pop()
        spare.chain()
        spare.in_commitlog = False
        self._close(self.commitlog[-1])
        self.is_up = False

    def start(self) -> None:
        replayed = self.commitlog
        self.commitlog = []
        self._create()
        self._create()
        for content in replayed:
            if content.changes:
                self.logs[content.name] = content
                self.dropped.discard(content.name)
                # The number is the length of the file, and may be smaller than the logical end.
                self.indexes[content.name] = Idx(completed=True)
        for content in replayed:
            content.in_commitlog = False
            if content.name not in self.indexes:
                self.logs.pop(content.name, None)
        self.is_up = True

    def _create(self) -> None:
        self.clock += 1
        content = Content(SegmentName(self.clock, VERSION))
        self.commitlog.append(content)
        self.all.append(content)
        self.logs[content.name] = content

    def _close(self, content: Content) -> None:
        content.chain()
        self._index(content, completed=True)

    def _index(self, content: Content, *, completed: bool) -> None:
        if content.changes:
            done = Idx(completed=True) if completed else Idx(offset=content.chain_end)
            self.indexes[content.name] = done
