"""A thread that makes the requests to a store."""

import threading
from abc import ABC, abstractmethod

from sidecar.store.base import StoppableStore

_JOIN_S = 5.0


class StoreThread(ABC):
    """Runs `_work`, then closes the store. Other threads start and end it."""

    def __init__(self, store: StoppableStore, name: str) -> None:
        self._store = store
        self._changed = threading.Condition()
        self._is_stopped = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @abstractmethod
    def _work(self) -> None:
        """Returns soon after `_is_stopped`, whose change notifies `_changed`."""

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    @property
    def is_stopping(self) -> bool:
        return self._is_stopped

    def stop(self) -> None:
        """Requests the end of the thread without waiting."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()
        self._store.stop()

    def close(self, deadline_s: float) -> None:
        """Ends the thread; pending work continues after the next start."""
        self.stop()
        if self._thread.is_alive():
            self._thread.join(max(deadline_s, _JOIN_S))

    def _run(self) -> None:
        try:
            self._work()
        finally:
            self._store.close()

    def _wait(self, seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._is_stopped, seconds)
