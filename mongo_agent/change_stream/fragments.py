"""Events that the server sent in parts, put together again (`$changeStreamSplitLargeEvent`)."""

from dataclasses import dataclass

from mongo_agent.encoder import join_fragments, split_of
from mongo_agent.change_stream.events import RawEvents


@dataclass(frozen=True, slots=True)
class Joined:
    """Whole events. `is_end`: no event is left with parts to come. `left_out` were too large."""

    events: RawEvents
    is_end: bool
    left_out: int = 0


class Fragments:
    """Keeps the parts of the event that is not whole. One for each time a stream is opened: it
    begins in front of the first part again. With `leaves_out` events in parts are none."""

    def __init__(self, *, leaves_out: bool = False) -> None:
        self._leaves_out = leaves_out
        self._parts: list[bytes] = []

    def joined(self, events: RawEvents) -> Joined:
        """Raises ValueError for parts that are of no one event."""
        whole: list[bytes] = []
        left_out = 0
        for event in events:
            split = split_of(event)
            if split is None:
                whole.append(event)
                continue
            self._parts.append(event)
            if split[0] < split[1]:
                continue
            if self._leaves_out:
                left_out += 1
            else:
                whole.append(join_fragments(self._parts))
            self._parts = []
        return Joined(tuple(whole), not self._parts, left_out)
