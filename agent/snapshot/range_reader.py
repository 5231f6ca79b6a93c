"""Reads one token range of a table, and requests the next page while it encodes one."""

import time
from collections.abc import Callable

from agent.snapshot.ring import TokenRange
from agent.snapshot.sources import Encoder, Page, PageSource, PendingPage
from commitlog import EventBatch

_FIRST_ROWS = 500
_MOST_ROWS = 10_000


class PageSize:
    """Adapts the rows of a page so that its events have about `size_bytes`."""

    def __init__(self, size_bytes: int, most_rows: int | None) -> None:
        self._size_bytes = size_bytes
        self._most = min(_MOST_ROWS, most_rows or _MOST_ROWS)
        self.rows = min(_FIRST_ROWS, self._most)

    def adapt(self, rows: int, size_bytes: int) -> None:
        if rows:
            fitting = self._size_bytes * rows // max(1, size_bytes)
            # At most double, because the next rows can be larger.
            self.rows = max(1, min(fitting, 2 * self.rows, self._most))


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


class RangeReader:
    """Reads a range from a token on. For one thread."""

    def __init__(
        self,
        pages: PageSource,
        encoder: Encoder,
        token_range: TokenRange,
        start: int,
        consistency: str,
        size: PageSize,
        throttle: Throttle,
    ) -> None:
        """Starts after the token `start`."""
        self.range = token_range
        self._pages = pages
        self._encoder = encoder
        self._start = start
        self._consistency = consistency
        self._size = size
        self._throttle = throttle
        self._cql = encoder.cql(start, token_range.to)
        self._pending: PendingPage | None = None
        self._next_page: bytes | None = None
        self._has_begun = False
        self.is_done = False

    @property
    def due_in_s(self) -> float:
        """Seconds until the limit of rows allows the next page."""
        return 0.0 if self._pending is not None else self._throttle.due_in_s

    @property
    def cql(self) -> str:
        return self._cql

    def read(self) -> EventBatch:
        """The events of the next page. Raises as `PageSource`, and MalformedValueError."""
        pending = self._pending or self._request()
        self._pending = None
        page = pending.result()
        self._next_page = page.next_page
        rows = int.from_bytes(page.body[:4], "big")
        self._throttle.add(rows)
        if page.next_page is not None and not self._throttle.due_in_s:
            self._pending = self._request()
        batch = self._encoded(page)
        self._size.adapt(rows, batch.size_bytes)
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

    def _request(self) -> PendingPage:
        return self._pages.ask(self._cql, self._consistency, self._size.rows, self._next_page)


def token_at(position: int) -> int:
    return position - (1 << 63)
