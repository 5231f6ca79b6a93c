"""The HTTP server's connections: a bounded number, and none can keep a probe from its answer.

A client owes a request from the moment it connects, and again after each answer. At the limit a
new connection is accepted and the one that has owed a request for longest is closed, so clients
that send half a request, send a body byte by byte or never read an answer only displace each other.
A connection whose request is complete is never closed this way.
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
"""Longest time from the first byte of a request to its last one."""
ANSWER_TIMEOUT_S = 30
"""Longest time in which a client must read an answer."""
THREADS = 4
_MAX_REQUEST_BYTES = 65536
_MEMORY_BYTES = 16 << 20
"""An answer that waits to be read stays in memory up to here; no answer is as large."""
_CLEANUP_INTERVAL_S = 1


class Channel(HTTPChannel):
    """One connection, which knows for how long its client has owed something."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.owes_since_s = time.monotonic()
        """When the client connected, or completed its last request."""
        self.request_since_s: float | None = None
        """When the first byte came of a request that is not complete."""
        self.unread_since_s: float | None = None
        """Since when an answer waits to be read, as `overdue` found it."""

    def received(self, data: bytes) -> bool:
        """Takes bytes of a request."""
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
        """Whether a complete request waits for its answer, or for a worker."""
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
    """Accepts at its limit too, and closes the connection that has owed a request for longest."""

    channel_class = Channel

    def readable(self) -> bool:
        """Whether to accept; called once in each turn of the loop."""
        now_s = int(time.time())
        if now_s >= self.next_channel_cleanup:
            self.next_channel_cleanup = now_s + self.adj.cleanup_interval
            self.maintenance(now_s)
        has_room = len(self._channels) < self.adj.connection_limit
        return bool(self.accepting and (has_room or self._idlest() is not None))

    def handle_accept(self) -> None:
        """Accepts first: the descriptor of a closed connection must not be reused in this turn,
        in which the loop may still have an event for it."""
        super().handle_accept()
        while len(self._channels) > self.adj.connection_limit:
            idlest = self._idlest()
            if idlest is None:
                return
            idlest.handle_close()

    def maintenance(self, now: int) -> None:
        """Closes connections that are idle for long, or overdue."""
        super().maintenance(now)
        now_s = time.monotonic()
        for channel in tuple(self._channels.values()):
            if channel.overdue(now_s):
                channel.will_close = True
                # Wakes the loop, which would else wait until the client reads.
                if channel.socket is not None:
                    with suppress(OSError):
                        channel.socket.shutdown(socket.SHUT_RDWR)

    @property
    def _channels(self) -> dict[int, Channel]:
        # The stubs of waitress give one channel for all of them.
        channels: Any = self.active_channels
        return cast(dict[int, Channel], channels)

    def _idlest(self) -> Channel | None:
        owing = [each for each in self._channels.values() if not each.is_served]
        return min(owing, key=lambda each: each.owes_since_s, default=None)


def bounded_server(
    application: Any, listener: socket.socket, sockets: dict[int, Any]
) -> BoundedServer:
    """A server of a WSGI application at a bound socket; it keeps its own sockets in `sockets`."""
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
