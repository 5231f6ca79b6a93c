"""Run a service from start to exit code: signals, the stop deadline, one log line for each error.

SIGTERM or SIGINT asks the service to stop within the deadline; a deferred SIGTERM
(`deferred_sigterm`) ends it before it starts. A second signal ends the process at once by the
signal's default action. Offsets are durable at any moment, so this loses no event.
"""

import logging
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol

from sidecar.errors import EXIT_STOPPED, SidecarError
from sidecar.logs import fields
from sidecar.process import deferred_sigterm

logger = logging.getLogger(__name__)

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_GRACE_S = 5.0


class Stop:
    """The request to stop, as the service sees it. Safe to make from a signal handler or thread.

    `threading.Event` is not: a handler that runs while the main thread is inside the event's lock
    would wait for itself. A pipe and plain attributes have no lock.
    """

    def __init__(
        self, shutdown_timeout_ms: int, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`clock` gives seconds."""
        self._timeout_s = shutdown_timeout_ms / 1000
        self._clock = clock
        self._deadline_s: float | None = None
        self._read_fd, self._write_fd = os.pipe()
        os.set_blocking(self._write_fd, False)

    @property
    def requested(self) -> bool:
        return self._deadline_s is not None

    @property
    def remaining_s(self) -> float:
        """Until the deadline; the whole timeout while no stop is requested."""
        if self._deadline_s is None:
            return self._timeout_s
        return max(0.0, self._deadline_s - self._clock())

    def request(self) -> None:
        """Ask for the stop; the deadline counts from the first call."""
        if self._deadline_s is None:
            self._deadline_s = self._clock() + self._timeout_s
            os.write(self._write_fd, b"\0")

    def wait(self, timeout_s: float) -> bool:
        """Wait for the request; True when it is there."""
        if not self.requested:
            select.select([self._read_fd], [], [], timeout_s)
        return self.requested

    def fileno(self) -> int:
        """A descriptor that is readable once the stop is requested."""
        return self._read_fd

    def close(self) -> None:
        os.close(self._read_fd)
        os.close(self._write_fd)


class Service(Protocol):
    """What `run` keeps alive."""

    def run(self, stop: Stop) -> None:
        """Work until `stop.requested`, then bring things to an end within `stop.remaining_s`."""


def run(
    service: Service,
    shutdown_timeout_ms: int,
    *,
    exit_now: Callable[[int], None] = os._exit,
) -> int:
    """Run the service in the main thread until it ends; gives the exit code of the process.

    When the service does not end within the deadline and a grace of five seconds, `exit_now` ends
    the process with code 1.
    """
    stop = Stop(shutdown_timeout_ms)
    ended = threading.Event()
    guard = threading.Thread(
        target=_guard_deadline, args=(stop, ended, exit_now), name="stop-guard", daemon=True
    )
    guard.start()
    try:
        with _signals_to(stop):
            if deferred_sigterm.is_pending():
                logger.info("stopped before anything began")
                return EXIT_STOPPED
            return exit_code(lambda: service.run(stop))
    finally:
        ended.set()
        # Wakes the guard, which waits for a request.
        stop.request()
        guard.join()
        stop.close()


def exit_code(work: Callable[[], None]) -> int:
    """Do the work; the exit code of the process, after one sentence about an error."""
    try:
        work()
    except SidecarError as error:
        for sentence in str(error).splitlines():
            logger.error(sentence)
        logger.debug("where the error came from", exc_info=error)
        return error.exit_code
    except KeyboardInterrupt:
        return EXIT_STOPPED
    except Exception as error:
        logger.error(
            "an unexpected error ended the process; run with log.level=debug for the traceback",
            extra=fields(kind=type(error).__name__, error=str(error)),
        )
        logger.debug("where the error came from", exc_info=error)
        return 1
    return EXIT_STOPPED


@contextmanager
def _signals_to(stop: Stop) -> Iterator[None]:
    def request(number: int, frame: FrameType | None) -> None:
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_DFL)
        stop.request()

    before = {number: signal.signal(number, request) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _guard_deadline(stop: Stop, ended: threading.Event, exit_now: Callable[[int], None]) -> None:
    while not stop.wait(timeout_s=3600):
        pass
    if not ended.wait(stop.remaining_s + _GRACE_S):
        logger.error("the process did not stop within its deadline and is ended")
        sys.stderr.flush()
        exit_now(1)
