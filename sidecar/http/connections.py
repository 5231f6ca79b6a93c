"""Bounds the connections of the HTTP server, so that slow clients cannot block probes.

A client owes a request after it connects and after each answer. At the limit the server accepts a
new connection and closes the one that has owed a request for longest. So clients that send half a
request, send a body byte by byte or never read an answer only displace each other. A connection
with a complete request is never closed this way.
"""

import socket
import time
from contextlib import suppress
from typing import Any, cast

from waitress.adjustments import Adjustments
from waitress.channel import HTTPChannel
from waitress.server import TcpWSGIServer
from waitress.task import ThreadedTaskDispatcher

CONNECTION_LIMIT = 64
REQUEST_TIMEOUT_S = 10
"""Maximum time from the first to the last byte of a request."""
ANSWER_TIMEOUT_S = 30
"""Maximum time for a client to read an answer."""
THREADS = 4
_MAX_REQUEST_BYTES = 65536
_MEMORY_BYTES = 16 << 20
"""Maximum size of unread answers in memory; no answer is as large."""
_CLEANUP_INTERVAL_S = 1


class Channel(HTTPChannel):
    """One connection, with the time since when its client owes something."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.owes_since_s = time.monotonic()
        """Time at which the client connected or completed its last request."""
        self.request_since_s: float | None = None
        """Arrival of the first byte of the incomplete request."""
        self.unread_since_s: float | None = None
        """Time since which an answer is unread, set by `overdue`."""

    def received(self, data: bytes) -> bool:
        """Process bytes of a request."""
        known = len(self.requests)
        is_taken = bool(super().received(data))
        now_s = time.monotonic()
        if len(self.requests) > known or self.request is None:
            self.owes_since_s = now_s
            self.request_since_s = None
        if self.request is not None and self.request_since_s is None:
            self.request_since_s = now_s
        return is_taken

    @property
    def is_served(self) -> bool:
        """Whether a complete request waits for a worker or its answer."""
        return bool(self.requests)

    def overdue(self, now_s: float) -> bool:
        """Whether the client takes too long to send a request or to read an answer."""
        if self.is_served:
            self.unread_since_s = None
            return False
        if not self.total_outbufs_len:
            self.unread_since_s = None
        elif self.unread_since_s is None:
            self.unread_since_s = now_s
        for since_s, limit_s in (
            (self.request_since_s, REQUEST_TIMEOUT_S),
            (self.unread_since_s, ANSWER_TIMEOUT_S),
        ):
            if since_s is not None and now_s - since_s > limit_s:
                return True
        return False


class BoundedServer(TcpWSGIServer):
    """At its limit, closes the connection that has owed a request for longest."""

    channel_class = Channel

    def readable(self) -> bool:
        """Whether to accept; called once per iteration of the loop."""
        now_s = int(time.time())
        if now_s >= self.next_channel_cleanup:
            self.next_channel_cleanup = now_s + self.adj.cleanup_interval
            self.maintenance(now_s)
        has_room = len(self._channels) < self.adj.connection_limit
        return bool(self.accepting and (has_room or self._idlest() is not None))

    def handle_accept(self) -> None:
        """Accept first: the loop may still have an event for the descriptor of a connection that
        is closed here, so the new connection must not reuse it."""
        super().handle_accept()
        while len(self._channels) > self.adj.connection_limit:
            idlest = self._idlest()
            if idlest is None:
                return
            idlest.handle_close()

    def maintenance(self, now: int) -> None:
        """Close idle and overdue connections."""
        super().maintenance(now)
        now_s = time.monotonic()
        for channel in tuple(self._channels.values()):
            if channel.overdue(now_s):
                channel.will_close = True
                # Wake the loop, which would otherwise wait until the client reads.
                if channel.socket is not None:
                    with suppress(OSError):
                        channel.socket.shutdown(socket.SHUT_RDWR)

    @property
    def _channels(self) -> dict[int, Channel]:
        # The stubs of waitress declare a single channel.
        channels: Any = self.active_channels
        return cast(dict[int, Channel], channels)

    def _idlest(self) -> Channel | None:
        owing = [each for each in self._channels.values() if not each.is_served]
        return min(owing, key=lambda each: each.owes_since_s, default=None)


def bounded_server(
    application: Any, listener: socket.socket, sockets: dict[int, Any]
) -> BoundedServer:
    """A server for a WSGI application on a bound socket; it registers sockets in `sockets`."""
    settings = Adjustments(
        sockets=[listener],
        threads=THREADS,
        connection_limit=CONNECTION_LIMIT,
        cleanup_interval=_CLEANUP_INTERVAL_S,
        outbuf_overflow=_MEMORY_BYTES,
        max_request_body_size=_MAX_REQUEST_BYTES,
        ident="cdc-sidecar",
    )
    dispatcher = ThreadedTaskDispatcher()
    dispatcher.set_thread_count(THREADS)
    address = (listener.family, listener.type, listener.proto, listener.getsockname())
    return BoundedServer(
        application,
        sockets,
        _sock=listener,
        dispatcher=dispatcher,
        adj=settings,
        sockinfo=address,
        bind_socket=False,
    )
