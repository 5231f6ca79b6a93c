"""A watchdog observer that also reports dropped events.

Import it inside a function: the import fails if the C library does not support inotify.
"""

from collections.abc import Callable

from watchdog.observers.api import DEFAULT_OBSERVER_TIMEOUT, BaseObserver
from watchdog.observers.inotify import InotifyEmitter
from watchdog.observers.inotify_c import InotifyEvent, InotifyFD


class OverflowObserver(BaseObserver):
    """`watchdog.observers.inotify.InotifyObserver` with a callback `on_overflow`. The thread that
    reads inotify calls it. Raises OSError if the user has reached the limit of inotify
    instances."""

    def __init__(self, on_overflow: Callable[[], None]) -> None:
        self.inotify = _OverflowReader(on_overflow)
        self.inotify.start()
        super().__init__(InotifyEmitter, timeout=DEFAULT_OBSERVER_TIMEOUT, inotify_fd=self.inotify)

    def on_thread_stop(self) -> None:
        super().on_thread_stop()
        self.inotify.stop()
        self.inotify.join()


class _OverflowReader(InotifyFD):
    def __init__(self, on_overflow: Callable[[], None]) -> None:
        super().__init__()
        self._on_overflow = on_overflow

    def handle_event(self, event: InotifyEvent) -> None:
        super().handle_event(event)
        # watchdog does not pass this event to handlers.
        if event.is_queue_overflow:
            self._on_overflow()
