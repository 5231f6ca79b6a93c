"""A thread that works beside the loop until it is asked to stop."""

import threading
from collections.abc import Callable
from typing import Self

_JOIN_S = 5.0


class Worker:
    """Runs `work` on a daemon thread, from `with` to its end.

    `work` gets an event and returns soon after it is set. A call that cannot be interrupted ends
    with the process.
    """

    def __init__(
        self, name: str, work: Callable[[threading.Event], None], *, join_s: float | None = _JOIN_S
    ) -> None:
        """`join_s` is how long the end waits for the thread; None: as long as it takes."""
        self._stopped = threading.Event()
        self._join_s = join_s
        self._thread = threading.Thread(target=work, args=(self._stopped,), name=name, daemon=True)

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    @property
    def is_stopping(self) -> bool:
        """True once the end was asked for."""
        return self._stopped.is_set()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Asks the thread to end and waits for it."""
        self._stopped.set()
        self._thread.join(self._join_s)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()
