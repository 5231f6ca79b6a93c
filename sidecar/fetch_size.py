"""Decides how many rows or documents the next request fetches, and when.

A request specifies a number of rows, but memory and time at the server depend on bytes, which only
answers reveal. So requests begin with one row, at most double, and adapt to the row size. After a
failure, requests fetch at most half as many rows.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

_DECAY = 0.9
_FIRST_PATIENCE = 1000


@dataclass(frozen=True, slots=True)
class FetchSize:
    """The size of requests to one table: about `target_bytes`, at most `limit` rows.

    `most` is the current limit, which failures lower. `row_bytes` estimates the size of large rows.
    `answers` counts answers since `most` changed. After `patience` answers, `most` doubles, so
    failures with a different cause do not slow a long snapshot forever.
    """

    target_bytes: int
    limit: int
    rows: int = 1
    most: int = 0
    row_bytes: float = 0.0
    answers: int = 0
    patience: int = _FIRST_PATIENCE

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", self.most or self.limit)

    def is_too_large(self, rows: int, size_bytes: int) -> bool:
        """Whether to discard an answer and repeat the request with the next size."""
        return rows > 1 and size_bytes > 2 * self.target_bytes

    def after(self, rows: int, size_bytes: int) -> "FetchSize":
        """Return the size after an answer."""
        if not rows:
            return self
        row_bytes = max(size_bytes / rows, self.row_bytes * _DECAY, 1.0)
        patient = replace(self, row_bytes=row_bytes, answers=self.answers + 1)
        if self.most < self.limit and patient.answers >= self.patience:
            most = min(self.limit, 2 * self.most)
            patient = replace(patient, most=most, answers=0, patience=2 * self.patience)
        # The final answer of a range is often short, and says little about a full one.
        grown = 2 * self.rows if rows >= self.rows else self.rows
        fitting = int(self.target_bytes / row_bytes)
        return replace(patient, rows=max(1, min(grown, fitting, patient.most)))

    def failed(self, asked: int) -> "FetchSize":
        """Return the size after a request for `asked` rows failed."""
        most = max(1, min(self.most, asked // 2))
        return replace(self, rows=min(self.rows, most), most=most, answers=0)


class Throttle:
    """Limits rows per second; None means no limit."""

    def __init__(
        self, rows_per_second: int | None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate = rows_per_second
        self._clock = clock
        self._next_s = clock()

    @property
    def due_in_s(self) -> float:
        """Seconds until the next page may be requested."""
        return max(0.0, self._next_s - self._clock())

    def add(self, rows: int) -> None:
        if self._rate is not None:
            self._next_s = max(self._next_s, self._clock()) + rows / self._rate
