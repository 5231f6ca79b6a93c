"""What is in a transaction that is not committed, and what has to be sent once more."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sidecar.delivery import Numbered


@dataclass(frozen=True, slots=True)
class Piece:
    """Events first … stop-1 of a batch."""

    numbered: Numbered[Any, Any]
    first: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.first

    @property
    def numbers(self) -> range:
        return range(self.numbered.first + self.first, self.numbered.first + self.stop)

    @property
    def size_bytes(self) -> int:
        """Its share of the batch."""
        batch = self.numbered.batch
        return batch.size_bytes * len(self) // max(1, len(batch))


class TransactionContents:
    """Pieces in the order in which they were taken: first those that were handed over, then those
    that are to be `again`. `refused` events count as part of it and are never sent."""

    def __init__(self) -> None:
        self._handed: list[Piece] = []
        self._again: deque[Piece] = deque()
        self._refused: set[int] = set()
        self.events = 0
        self.size_bytes = 0

    @property
    def again(self) -> Piece | None:
        """What has to be handed over before anything else."""
        return self._again[0] if self._again else None

    def refuse(self, number: int) -> None:
        self._refused.add(number)

    def wanted(self, numbers: range, arguments: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Each number that is not refused, with its arguments."""
        pairs = zip(numbers, arguments, strict=False)
        if not self._refused:
            return pairs
        return (pair for pair in pairs if pair[0] not in self._refused)

    def handed_over(self, piece: Piece) -> None:
        """These events, the first of `again` if there are any, are in the transaction."""
        if self._again:
            left = replace(self._again.popleft(), first=piece.stop)
            if len(left):
                self._again.appendleft(left)
        else:
            self.events += len(piece)
            self.size_bytes += piece.size_bytes
        last = self._handed[-1] if self._handed else None
        if last is not None and last.numbered is piece.numbered and last.stop == piece.first:
            self._handed[-1] = replace(last, stop=piece.stop)
        elif len(piece):
            self._handed.append(piece)

    def aborted(self) -> None:
        """Everything is handed over again."""
        self._again.extendleft(reversed(self._handed))
        self._handed.clear()

    def committed(self) -> list[range]:
        """The numbers that are safe; refused ones are not among them. Nothing is left."""
        runs = [run for piece in self._handed for run in self._without_refused(piece.numbers)]
        self._handed.clear()
        self._refused.clear()
        self.events = self.size_bytes = 0
        return runs

    def _without_refused(self, numbers: range) -> Iterator[range]:
        start = numbers.start
        for refused in sorted(n for n in self._refused if n in numbers):
            if start < refused:
                yield range(start, refused)
            start = refused + 1
        if start < numbers.stop:
            yield range(start, numbers.stop)
