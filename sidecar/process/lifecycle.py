"""Runs a service and returns its exit code: handles signals, the stop deadline and errors.

A `Worker` is a thread that works beside the service until it is stopped.

SIGTERM or SIGINT requests a stop within the deadline; a deferred SIGTERM (`deferred_sigterm`) stops
the service before it starts. A second signal kills the process immediately by the signal's default
action. Offsets are durable at any moment, so this loses no event.
"""

import logging
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from types import FrameType
from typing import Protocol, Self, TypeVar

from sidecar.errors import EXIT_STOPPED, ConfigError, SidecarError
from sidecar.logs import fields
from sidecar.process import deferred_sigterm

logger = logging.getLogger(__name__)

Result = TypeVar("Result")
_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_GRACE_S = 5.0


class Stop:
    """A request to stop, safe to make from a signal handler or another thread.

    `threading.Event` is not safe: a handler that interrupts the main thread inside the event's lock
    would deadlock. A pipe and plain attributes need no lock.
    """

    def __init__(
        self, shutdown_timeout_ms: int, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
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
        """Seconds until the deadline; the whole timeout before a request."""
        if self._deadline_s is None:
            return self._timeout_s
        return max(0.0, self._deadline_s - self._clock())

    def request(self) -> None:
        """Request the stop; the deadline counts from the first call."""
        if self._deadline_s is None:
            self._deadline_s = self._clock() + self._timeout_s
            os.write(self._write_fd, b"\0")

    def wait(self, timeout_s: float) -> bool:
        """Wait for the request. Return whether it was made."""
        if not self.requested:
            select.select([self._read_fd], [], [], timeout_s)
        return self.requested

    def fileno(self) -> int:
        """Return a descriptor that becomes readable when the stop is requested."""
        return self._read_fd

    def close(self) -> None:
        os.close(self._read_fd)
        os.close(self._write_fd)


class PartStop(Stop):
    """Stops a part of a service: with the whole service and its deadline, or alone and without
    delay."""

    def __init__(self, whole: Stop) -> None:
        super().__init__(0)
        self._whole = whole
        self._either = select.epoll()
        for descriptor in (self._read_fd, whole.fileno()):
            self._either.register(descriptor, select.EPOLLIN)

    @property
    def requested(self) -> bool:
        return super().requested or self._whole.requested

    @property
    def remaining_s(self) -> float:
        return 0.0 if super().requested else self._whole.remaining_s

    def wait(self, timeout_s: float) -> bool:
        if not self.requested:
            self._either.poll(timeout_s)
        return self.requested

    def fileno(self) -> int:
        return self._either.fileno()

    def close(self) -> None:
        self._either.close()
        super().close()


class Service(Protocol):
    def run(self, stop: Stop) -> None:
        """Work until `stop.requested`, then finish within `stop.remaining_s`."""


def run(
    service: Service,
    shutdown_timeout_ms: int,
    *,
    exit_now: Callable[[int], None] = os._exit,
) -> int:
    """Run the service in the main thread until it stops. Return the exit code of the process.

    If the service does not stop within the deadline and a grace period of five seconds, `exit_now`
    exits the process with code 1.
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
                logger.info("stopped before the service started")
                return EXIT_STOPPED
            return exit_code(lambda: service.run(stop))
    finally:
        ended.set()
        # Wakes the guard thread.
        stop.request()
        guard.join()
        stop.close()


def exit_code(work: Callable[[], None]) -> int:
    """Run `work` and return the exit code of the process, after logging an error."""
    try:
        work()
    except SidecarError as error:
        # A name in a message may contain separators of lines.
        for message in error.problems if isinstance(error, ConfigError) else (str(error),):
            logger.error(message)
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
        logger.error("the process did not stop within its deadline; it exits now")
        sys.stderr.flush()
        exit_now(1)


def call_in_thread(name: str, call: Callable[[], Result]) -> Future[Result]:
    """Call a function on a daemon thread, which does not block the exit of the process."""
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return future


_JOIN_S = 5.0


class Worker:
    """Runs `work` on a daemon thread inside a `with` block.

    `work` receives an event and must return soon after it is set. A call that cannot be interrupted
    ends with the process.
    """

    def __init__(
        self, name: str, work: Callable[[threading.Event], None], *, join_s: float | None = _JOIN_S
    ) -> None:
        """`join_s` limits how long `stop` waits for the thread; None: no limit."""
        self._stopped = threading.Event()
        self._join_s = join_s
        self._thread = threading.Thread(target=work, args=(self._stopped,), name=name, daemon=True)

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    @property
    def is_stopping(self) -> bool:
        return self._stopped.is_set()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Signal the thread to stop, and wait for it."""
        self._stopped.set()
        self._thread.join(self._join_s)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()
