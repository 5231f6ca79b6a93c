"""A server that answers each connection once, with the bytes that a test wants."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

OK = b"HTTP/1.1 200 OK\r\n"
Answer = Callable[[bytes], tuple[bytes, bytes]]
"""To a request: how it starts, and what follows without end."""


class Answering:
    """Sends the bytes of a request to whoever connects, then `forever`, if it has any, until the
    other end has enough."""

    def __init__(self, answer: Answer, pause_s: float = 0.0) -> None:
        self.answer, self.pause_s = answer, pause_s
        self.requests: list[bytes] = []
        self.forever_bytes = 0
        self.ended = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.thread = threading.Thread(target=self._serve, daemon=True)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            self.requests.append(connection.recv(65536))
            start, forever = self.answer(self.requests[-1])
            connection.sendall(start)
            if not forever:
                # An end with an unread request would destroy the answer on its way.
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65536):
                    pass
            while forever and not self.ended.wait(self.pause_s):
                connection.sendall(forever)
                self.forever_bytes += len(forever)


@contextmanager
def answering(
    answer: bytes | Answer, forever: bytes = b"", pause_s: float = 0.0
) -> Iterator[Answering]:
    """Bytes are the answer to every request."""
    server = Answering(answer if callable(answer) else lambda _: (answer, forever), pause_s)
    server.thread.start()
    try:
        yield server
    finally:
        server.ended.set()
        # Ends the thread that waits for a connection; closing alone would not wake it.
        server.listener.shutdown(socket.SHUT_RDWR)
        server.listener.close()
        server.thread.join()
