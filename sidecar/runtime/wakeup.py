"""The one condition on which an idle loop waits."""

import os
import select
import threading

_LONGEST_WAIT_S = 3600.0
"""`poll` takes its timeout in milliseconds of 31 bits."""


class Wakeup:
    """Any thread rings; one thread waits for rings and for other descriptors at once.

    It is a pipe instead of `threading.Condition`, because the request to stop is a descriptor.
    """

    def __init__(self) -> None:
        self._read_fd, self._write_fd = os.pipe()
        os.set_blocking(self._read_fd, False)
        os.set_blocking(self._write_fd, False)
        self._lock = threading.Lock()
        self._is_closed = False

    def ring(self) -> None:
        """Ends the current wait or the next one. Harmless after `close`."""
        with self._lock:
            if self._is_closed:
                return
            try:
                os.write(self._write_fd, b"\0")
            except BlockingIOError:
                # A full pipe wakes just as well.
                return

    def wait(self, timeout_s: float, *descriptors: int) -> None:
        """Waits for a ring, a readable descriptor or the timeout, an hour at most."""
        poller = select.poll()
        for descriptor in (self._read_fd, *descriptors):
            poller.register(descriptor, select.POLLIN)
        poller.poll(min(max(0.0, timeout_s), _LONGEST_WAIT_S) * 1000)
        self._forget_rings()

    def close(self) -> None:
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                os.close(self._read_fd)
                os.close(self._write_fd)

    def _forget_rings(self) -> None:
        try:
            while len(os.read(self._read_fd, 4096)) == 4096:
                pass
        except BlockingIOError:
            return
