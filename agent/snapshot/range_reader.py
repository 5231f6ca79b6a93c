"""One range of one table, page by page, the next page being on its way while one is encoded."""

import time
from collections.abc import Callable
from typing import Protocol

from agent.snapshot.page import Page, Pages, PendingPage
from agent.snapshot.ring import TokenRange
from commitlog import EventBatch

_FIRST_ROWS = 500
_MOST_ROWS = 10_000


class Encoder(Protocol):
    """`commitlog.SnapshotEncoder`."""

    def cql(self, after: int, to: int) -> str: ...
    def encode(
        self,
        page: bytes,
        *,
        read_at_us: int,
        start: int,
        end: int | None = None,
        continues: bool = False,
    ) -> EventBatch: ...


class PageSize:
    """How many rows are asked for at once: as many as make events of so many bytes.

    `most_rows` is the limit of rows in a second, where there is one.
    """

    def __init__(self, size_bytes: int, most_rows: int | None) -> None:
        self._size_bytes = size_bytes
        self._most = min(_MOST_ROWS, most_rows or _MOST_ROWS)
        self.rows = min(_FIRST_ROWS, self._most)

    def learn(self, rows: int, size_bytes: int) -> None:
        """From the events of a page."""
        if rows:
            fitting = self._size_bytes * rows // max(1, size_bytes)
            # At most double: the next rows may be larger.
            self.rows = max(1, min(fitting, 2 * self.rows, self._most))


class Throttle:
    """Lets so many rows pass in a second; None: any."""

    def __init__(
        self, rows_per_second: int | None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`clock` gives seconds."""
        self._rate = rows_per_second
        self._clock = clock
        self._next_s = clock()

    @property
    def due_in_s(self) -> float:
        """When the next page may be asked for."""
        return max(0.0, self._next_s - self._clock())

    def passed(self, rows: int) -> None:
        if self._rate is not None:
            self._next_s = max(self._next_s, self._clock()) + rows / self._rate


class RangeReader:
    """Reads a range from a token on. For one thread."""

    def __init__(
        self,
        pages: Pages,
        encoder: Encoder,
        ranged: TokenRange,
        start: int,
        consistency: str,
        size: PageSize,
        throttle: Throttle,
    ) -> None:
        """Everything up to and including the token `start` was taken before."""
        self.range = ranged
        self._pages = pages
        self._encoder = encoder
        self._start = start
        self._consistency = consistency
        self._size = size
        self._throttle = throttle
        self._cql = encoder.cql(start, ranged.to)
        self._asked: PendingPage | None = None
        self._next_page: bytes | None = None
        self._has_begun = False
        self.is_done = False

    @property
    def due_in_s(self) -> float:
        """How long the limit of rows keeps it waiting."""
        return 0.0 if self._asked is not None else self._throttle.due_in_s

    @property
    def cql(self) -> str:
        return self._cql

    def read(self) -> EventBatch:
        """The events of the next page.

        Raises what `Pages` raises, and MalformedValueError.
        """
        asked = self._asked or self._ask()
        self._asked = None
        page = asked.result()
        self._next_page = page.next_page
        rows = int.from_bytes(page.body[:4], "big")
        self._throttle.passed(rows)
        if page.next_page is not None and not self._throttle.due_in_s:
            self._asked = self._ask()
        batch = self._encoded(page)
        self._size.learn(rows, batch.size_bytes)
        return batch

    def _encoded(self, page: Page) -> EventBatch:
        is_last = page.next_page is None
        batch = self._encoder.encode(
            page.body,
            read_at_us=page.read_at_us,
            start=self._start,
            end=self.range.to if is_last else None,
            continues=self._has_begun,
        )
        self._has_begun = True
        self._start = token_at(batch.end_position)
        self.is_done = is_last
        return batch

    def _ask(self) -> PendingPage:
        return self._pages.ask(self._cql, self._consistency, self._size.rows, self._next_page)


def token_at(position: int) -> int:
    """The token at a position of a batch."""
    return position - (1 << 63)


def position_at(token: int) -> int:
    """The position of a token in a batch."""
    return token + (1 << 63)
