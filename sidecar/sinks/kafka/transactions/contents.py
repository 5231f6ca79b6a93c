"""The events of an uncommitted transaction, and those to send again."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sidecar.events import NumberedBatch


@dataclass(frozen=True, slots=True)
class BatchSlice:
    """Events first … stop-1 of a batch."""

    numbered: NumberedBatch[Any, Any]
    first: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.first

    @property
    def numbers(self) -> range:
        return range(self.numbered.first + self.first, self.numbered.first + self.stop)

    @property
    def size_bytes(self) -> int:
        """The size of these events, as a share of the batch."""
        batch = self.numbered.batch
        return batch.size_bytes * len(self) // max(1, len(batch))


class TransactionContents:
    """Slices in order: first those in the transaction, then those to send again (`unsent`).
    Excluded events were rejected: they count as part of the contents and are never sent."""

    def __init__(self) -> None:
        self._sent: list[BatchSlice] = []
        self._unsent: deque[BatchSlice] = deque()
        self._excluded: set[int] = set()
        self.events = 0
        self.size_bytes = 0

    @property
    def unsent(self) -> BatchSlice | None:
        """The slice that must be sent before anything else."""
        return self._unsent[0] if self._unsent else None

    def exclude(self, number: int) -> None:
        self._excluded.add(number)

    def without_excluded(
        self, numbers: range, arguments: Sequence[Any]
    ) -> Iterator[tuple[int, Any]]:
        pairs = zip(numbers, arguments, strict=False)
        if not self._excluded:
            return pairs
        return (pair for pair in pairs if pair[0] not in self._excluded)

    def sent(self, piece: BatchSlice) -> None:
        """These events, the first unsent ones if any, are in the transaction."""
        if self._unsent:
            left = replace(self._unsent.popleft(), first=piece.stop)
            if len(left):
                self._unsent.appendleft(left)
        else:
            self.events += len(piece)
            self.size_bytes += piece.size_bytes
        last = self._sent[-1] if self._sent else None
        if last is not None and last.numbered is piece.numbered and last.stop == piece.first:
            self._sent[-1] = replace(last, stop=piece.stop)
        elif len(piece):
            self._sent.append(piece)

    def aborted(self) -> None:
        """Queue everything to be sent again."""
        self._unsent.extendleft(reversed(self._sent))
        self._sent.clear()

    def committed(self) -> list[range]:
        """The committed numbers without the excluded ones; clears the contents."""
        runs = [run for piece in self._sent for run in self._without_excluded(piece.numbers)]
        self._sent.clear()
        self._excluded.clear()
        self.events = self.size_bytes = 0
        return runs

    def _without_excluded(self, numbers: range) -> Iterator[range]:
        start = numbers.start
        for rejected in sorted(n for n in self._excluded if n in numbers):
            if start < rejected:
                yield range(start, rejected)
            start = rejected + 1
        if start < numbers.stop:
            yield range(start, numbers.stop)
