"""Limits the connections of the HTTP server, so that slow clients cannot block probes.

A client owes a request after it connects and after each answer. At the limit, the server accepts a
new connection and closes the connection that has owed a request longest. So clients that send half
a request, send a body byte by byte or never read an answer only displace each other. A connection
with a complete request is never closed this way.

No thread waits for a client: the whole answer is in memory, and the connection's next request is
read after the client has read the answer. The total size of unread answers is limited.
"""

import resource
import socket
import sys
import threading
import time
from contextlib import suppress
from typing import Any, cast

from waitress.adjustments import Adjustments
from waitress.channel import HTTPChannel
from waitress.server import TcpWSGIServer
from waitress.task import ThreadedTaskDispatcher

from sidecar.http.requests import MAX_BODY_BYTES, MAX_HEAD_BYTES, RequestParser

MOST_CONNECTIONS, LEAST_CONNECTIONS = 64, 4
_DESCRIPTOR_SHARE = 4
"""Connections may use one in four open files; segments, offsets and servers need the rest."""
REQUEST_TIMEOUT_S = 10
"""Maximum time from the first to the last byte of a request."""
ANSWER_TIMEOUT_S = 30
"""Maximum time for a client to read an answer."""
THREADS = 4
PROBES = frozenset(("/ping", "/live", "/ready"))
UNREAD_BYTES = 32 << 20
"""Maximum size of all unread answers; beyond it, the idlest connections are closed."""
_CLEANUP_INTERVAL_S = 1


class Channel(HTTPChannel):
    """One connection, which records since when its client owes a request or a read."""

    parser_class = RequestParser
    # waitress's stubs omit the lock, and declare different types.
    request: RequestParser | None
    requests: list[RequestParser]
    requests_lock: threading.Lock
    server: Any

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.owes_since_s = time.monotonic()
        """Time at which the client connected or completed its latest request."""
        self.request_since_s: float | None = None
        """Arrival time of the incomplete request's first byte."""
        self.unread_since_s: float | None = None
        """Time since which an answer has been unread, set by `overdue`."""
        self._following = b""
        """Bytes after a complete request, processed once its answer has been read."""

    def readable(self) -> bool:
        """Whether to receive bytes; called once per iteration of the loop."""
        if self._following and super().readable():
            following, self._following = self._following, b""
            self.received(following)
        return bool(super().readable())

    def received(self, data: bytes) -> bool:
        """Process bytes up to the end of one request."""
        with self.requests_lock:
            if self.will_close or self.close_when_flushed:
                return False
            while data and not self.requests:
                if self.request is None:
                    self.request = self.parser_class(self.adj)
                    self.request_since_s = time.monotonic()
                data = data[self.request.received(data) :]
                if self.request.completed:
                    self._serve(self.request)
                elif self.request.expect_continue and not self.sent_continue:
                    self.send_continue()
            self._following = data
        return True

    def _serve(self, request: RequestParser) -> None:
        self.request = self.request_since_s = None
        self.sent_continue = False
        self.owes_since_s = time.monotonic()
        self.requests.append(request)
        self.server.add_task(self)

    def end(self) -> None:
        """Let the loop close the connection, because it may be waiting on the descriptor now."""
        self.will_close = True
        # Wake the loop, which would otherwise wait until the client reads.
        if self.socket is not None:
            with suppress(OSError):
                self.socket.shutdown(socket.SHUT_RDWR)

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
    """At its limit, closes the connection that has owed a request longest."""

    channel_class = Channel

    def readable(self) -> bool:
        """Whether to accept connections; called once per iteration of the loop."""
        now_s = int(time.time())
        self._limit_unread()
        if now_s >= self.next_channel_cleanup:
            self.next_channel_cleanup = now_s + self.adj.cleanup_interval
            self.maintenance(now_s)
        has_room = len(self._channels) < self.adj.connection_limit
        return bool(self.accepting and (has_room or self._idlest() is not None))

    def handle_accept(self) -> None:
        """Accept before closing: the loop may still hold an event for a descriptor that is closed
        here, so the new connection must not reuse it."""
        super().handle_accept()
        while len(self._channels) > self.adj.connection_limit:
            idlest = self._idlest()
            if idlest is None:
                return
            idlest.handle_close()

    def maintenance(self, now: int) -> None:
        super().maintenance(now)
        now_s = time.monotonic()
        for channel in tuple(self._channels.values()):
            if channel.overdue(now_s):
                channel.end()

    def _limit_unread(self) -> None:
        held = {each: each.total_outbufs_len for each in self._channels.values()}
        excess = sum(held.values()) - UNREAD_BYTES
        for channel in sorted(held, key=lambda each: each.owes_since_s):
            if excess > 0 and held[channel] and not channel.is_served:
                excess -= held[channel]
                channel.end()

    @property
    def _channels(self) -> dict[int, Channel]:
        # waitress's stubs declare a single channel.
        channels: Any = self.active_channels
        return cast(dict[int, Channel], channels)

    def _idlest(self) -> Channel | None:
        owing = [each for each in self._channels.values() if not each.is_served]
        return min(owing, key=lambda each: each.owes_since_s, default=None)


def connection_limit(open_files: int) -> int:
    """Return the maximum number of connections for RLIMIT_NOFILE (-1: unlimited)."""
    if open_files == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return max(LEAST_CONNECTIONS, min(MOST_CONNECTIONS, open_files // _DESCRIPTOR_SHARE))


class ProbesFirst(ThreadedTaskDispatcher):
    """Answers probes before other requests that wait for a thread."""

    def add_task(self, task: Any) -> None:
        """The loop calls this with a channel that contains one request."""
        with self.lock:
            is_probe = task.requests[0].path in PROBES
            (self.queue.appendleft if is_probe else self.queue.append)(task)
            self.queue_cv.notify()


def bounded_server(
    application: Any, listener: socket.socket, sockets: dict[int, Any]
) -> BoundedServer:
    """Create a server for a WSGI application on a bound socket; it adds sockets to `sockets`."""
    settings = Adjustments(
        sockets=[listener],
        threads=THREADS,
        connection_limit=connection_limit(resource.getrlimit(resource.RLIMIT_NOFILE)[0]),
        cleanup_interval=_CLEANUP_INTERVAL_S,
        outbuf_overflow=UNREAD_BYTES,
        # Above this mark, threads would wait for the client.
        outbuf_high_watermark=sys.maxsize,
        max_request_header_size=MAX_HEAD_BYTES,
        max_request_body_size=MAX_BODY_BYTES,
        ident="cdc-sidecar",
    )
    dispatcher = ProbesFirst()
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
