"""The interface of transfers, the local transfers, and the thread of the other transfers."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agent.cdc_raw.move import move
from sidecar.files.regular import make_directory
from sidecar.health.condition import Condition, State
from sidecar.quantities import size_text
from sidecar.store.base import StoppableStore


class TransferDeferredError(Exception):
    """A segment stays in `cdc_raw` for now; the message is the reason, without a period."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """Segments that have left `cdc_raw` but not yet reached their destination."""

    destination: str
    """Address for messages."""
    segments: int = 0
    size_bytes: int = 0
    max_bytes: int = 0
    error: str = ""
    """Why segments are not sent; empty without an error."""

    def conditions(self) -> Iterator[Condition]:
        if self.error:
            yield Condition(
                "transfer_unavailable",
                State.DEGRADED,
                "transfer",
                f"{self.error} {self.segments} finished segments ({size_text(self.size_bytes)} of "
                f"{size_text(self.max_bytes)}) wait for {self.destination}; segments that do not "
                "fit stay in cdc_raw.",
                "Correct the store's address, key or permissions; `agent check` verifies them.",
            )


class Transfer(ABC):
    """Moves finished segments out of `cdc_raw`. One thread calls `transfer`."""

    @abstractmethod
    def transfer(self, log: Path, idx: Path) -> None:
        """Moves both files. Either may be missing after a crash or a deletion by the node. The call
        can be repeated. Raises OSError or TransferDeferredError; the caller retries later."""

    def open(self) -> None:  # noqa: B027 - optional
        """Starts background work. Raises OSError."""

    def close(self, deadline_s: float) -> None:  # noqa: B027 - optional
        """Stops background work, which resumes after the next start."""

    @property
    def backlog(self) -> Backlog | None:
        """None if `transfer` completes immediately. Any thread may call it."""
        return None


class DeleteTransfer(Transfer):
    """Deletes the segment first, because it fills `cdc_raw`."""

    def transfer(self, log: Path, idx: Path) -> None:
        log.unlink(missing_ok=True)
        idx.unlink(missing_ok=True)


ARCHIVE = "archive"


class ArchiveTransfer(Transfer):
    """Moves both files to `<relocation directory>/archive`. Replaces a file with the same name,
    which is an earlier link to the same segment."""

    def __init__(self, relocation_directory: Path) -> None:
        self.directory = relocation_directory / ARCHIVE

    def transfer(self, log: Path, idx: Path) -> None:
        make_directory(self.directory)
        for source in (log, idx):
            move(source, self.directory / source.name)


_JOIN_S = 5.0


class StoreThread(ABC):
    """Runs `_work`, then closes the store. Other threads start and stop it."""

    def __init__(self, store: StoppableStore, name: str) -> None:
        self._store = store
        self._changed = threading.Condition()
        self.is_stopping = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @abstractmethod
    def _work(self) -> None:
        """Must return soon after `is_stopping` is set, which notifies `_changed`."""

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def stop(self) -> None:
        """Requests the thread to stop, without waiting for it."""
        with self._changed:
            self.is_stopping = True
            self._changed.notify_all()
        self._store.stop()

    def close(self, deadline_s: float) -> None:
        """Stops the thread; pending work continues after the next start."""
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
            self._changed.wait_for(lambda: self.is_stopping, seconds)
