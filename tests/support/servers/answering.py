"""A server that answers every connection with the same bytes."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

OK = b"HTTP/1.1 200 OK\r\n"


class Answering:
    """Sends the same bytes to whoever connects, then `forever` until the other end has enough."""

    def __init__(self, answer: bytes, forever: bytes = b"", pause_s: float = 0.0) -> None:
        self.answer, self.forever, self.pause_s = answer, forever, pause_s
        self.requests: list[bytes] = []
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
            with connection, suppress(OSError):
                self.requests.append(connection.recv(65536))
                connection.sendall(self.answer)
                if not self.forever:
                    # An end with an unread request would destroy the answer on its way.
                    connection.shutdown(socket.SHUT_WR)
                    while connection.recv(65536):
                        pass
                while self.forever and not self.ended.wait(self.pause_s):
                    connection.sendall(self.forever)


@contextmanager
def answering(answer: bytes, forever: bytes = b"", pause_s: float = 0.0) -> Iterator[Answering]:
    server = Answering(answer, forever, pause_s)
    server.thread.start()
    try:
        yield server
    finally:
        server.ended.set()
        # Ends the thread that waits for a connection; closing alone would not wake it.
        server.listener.shutdown(socket.SHUT_RDWR)
        server.listener.close()
        server.thread.join()
