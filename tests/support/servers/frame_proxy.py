"""A TCP proxy before one server that passes whole messages, so that tests can alter or lose one."""

import socket
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self


class FrameProxy(ABC):
    """Two threads for each connection; all have ended when the block ends."""

    def __init__(self, upstream: tuple[str, int], port: int = 0) -> None:
        """`port` is that of the proxy; 0 is a free one."""
        self._upstream = upstream
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._sockets: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", port))
        self.port: int = self._listener.getsockname()[1]

    @abstractmethod
    def _forward(self, client: socket.socket, server: socket.socket, sent: dict[int, Any]) -> None:
        """Passes the requests of a connection until its end, and notes them by their numbers."""

    @abstractmethod
    def _answer(self, client: socket.socket, server: socket.socket, sent: dict[int, Any]) -> None:
        """Passes the answers of a connection until its end."""

    def drop_connections(self) -> None:
        with self._lock:
            sockets = list(self._sockets)
        for each in sockets:
            _shut(each)

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, *exception: object) -> None:
        self._closing.set()
        _shut(self._listener)
        self._threads[0].join()
        self.drop_connections()
        for thread in self._threads:
            thread.join()
        for each in (*self._sockets, self._listener):
            each.close()

    def _start(self, run: Callable[..., None], *given: Any) -> None:
        thread = threading.Thread(target=run, args=given, name="proxy", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self._upstream)
            except OSError:
                client.close()
                continue
            with self._lock:
                self._sockets |= {client, server}
            sent: dict[int, Any] = {}
            for run in (self._forward, self._answer):
                self._start(self._run, run, client, server, sent)

    def _run(
        self,
        run: Callable[..., None],
        client: socket.socket,
        server: socket.socket,
        sent: dict[int, Any],
    ) -> None:
        # When one of both sides is gone, the other one goes too.
        with suppress(OSError):
            run(client, server, sent)
        # The other thread may still read them; `__exit__` closes them.
        _shut(client)
        _shut(server)


def exactly(source: socket.socket, size: int) -> bytes | None:
    """So many bytes; None when the connection ends before them."""
    data = bytearray(size)
    view, done = memoryview(data), 0
    while done < size:
        count = source.recv_into(view[done:])
        if not count:
            return None
        done += count
    return bytes(data)


def _shut(each: socket.socket) -> None:
    # Closing alone would not wake a thread that reads.
    with suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
