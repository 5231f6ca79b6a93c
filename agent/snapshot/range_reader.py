"""Reads one token range of a table; requests the next page while it encodes the current page."""

from agent.snapshot.connection import Page, PageConnection, PendingPage
from agent.snapshot.errors import ReplicasDownError
from agent.snapshot.ring import TokenRange
from commitlog import EventBatch, SnapshotEncoder
from sidecar.errors import UnavailableError
from sidecar.fetch_size import FetchSize, Throttle

_MOST_ROWS = 10_000
_EXPANSION_DECAY = 0.9


class PageSize:
    """Determines the number of rows of a table's next page, so that neither the page nor its events
    exceed about `size_bytes`."""

    def __init__(self, size_bytes: int, most_rows: int | None) -> None:
        self._size = FetchSize(size_bytes, min(_MOST_ROWS, most_rows or _MOST_ROWS))
        # Ratio of event bytes to page bytes.
        self._expansion = 1.0

    @property
    def rows(self) -> int:
        return self._size.rows

    def accept(self, rows: int, page_bytes: int) -> bool:
        """Adapts to a page; returns False if the page is too large and must be read again."""
        size_bytes = round(page_bytes * self._expansion)
        is_accepted = not self._size.is_too_large(rows, size_bytes)
        self._size = self._size.after(rows, size_bytes)
        return is_accepted

    def note_events(self, page_bytes: int, event_bytes: int) -> None:
        measured = event_bytes / max(1, page_bytes)
        self._expansion = max(1.0, measured, self._expansion * _EXPANSION_DECAY)

    def note_failure(self, asked: int) -> None:
        self._size = self._size.failed(asked)


class RangeReader:
    """Reads a token range forward. Not thread-safe."""

    def __init__(
        self,
        pages: PageConnection,
        encoder: SnapshotEncoder,
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
        self.cql = encoder.cql(start, token_range.to)
        self._pending: tuple[PendingPage, int] | None = None
        self._next_page: bytes | None = None
        self._has_begun = False
        self.is_done = False

    @property
    def due_in_s(self) -> float:
        """Seconds until the row limit allows the next page."""
        return 0.0 if self._pending is not None else self._throttle.due_in_s

    def read(self) -> EventBatch:
        """Reads the next page. Raises MalformedValueError and the errors of `PageConnection`."""
        page, rows = self._read_accepted()
        self._next_page = page.next_page
        self._throttle.add(rows)
        if page.next_page is not None and not self._throttle.due_in_s:
            self._pending = self._request()
        batch = self._encode(page)
        self._size.note_events(len(page.body), batch.size_bytes)
        return batch

    def _read_accepted(self) -> tuple[Page, int]:
        """Returns the next page of an acceptable size, and its number of rows."""
        while True:
            pending, asked = self._pending or self._request()
            self._pending = None
            try:
                page = pending.result()
            except ReplicasDownError:
                raise
            except UnavailableError:
                # The page may be too large for the node.
                self._size.note_failure(asked)
                raise
            rows = int.from_bytes(page.body[:4], "big")
            if self._size.accept(rows, len(page.body)):
                return page, rows

    def _encode(self, page: Page) -> EventBatch:
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

    def _request(self) -> tuple[PendingPage, int]:
        rows = self._size.rows
        return self._pages.ask(self.cql, self._consistency, rows, self._next_page), rows


def token_at(position: int) -> int:
    return position - (1 << 63)
