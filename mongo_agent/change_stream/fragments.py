"""Events that the server sent in parts, put together again (`$changeStreamSplitLargeEvent`)."""

from collections.abc import Sequence

from commitlog.mongo import join_fragments, split_of


class Fragments:
    """Keeps the parts of the event that is not whole. One for each time a stream is opened: it
    begins in front of the first part again."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def joined(self, events: Sequence[bytes]) -> tuple[tuple[bytes, ...], bool]:
        """Whole events, and whether none is left with parts to come. Raises ValueError for parts
        that are of no one event."""
        whole: list[bytes] = []
        for event in events:
            split = split_of(event)
            if split is None:
                whole.append(event)
                continue
            self._parts.append(event)
            if split[0] == split[1]:
                whole.append(join_fragments(self._parts))
                self._parts = []
        return tuple(whole), not self._parts
