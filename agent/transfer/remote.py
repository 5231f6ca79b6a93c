"""Sends finished and quarantined segments to a store: two directories, two threads."""

from dataclasses import replace
from pathlib import Path

from agent.transfer.base import Backlog, Transfer
from agent.transfer.quarantine_sync import QuarantineSync
from agent.transfer.upload_queue import UploadQueue


class RemoteTransfer(Transfer):
    """Combines the upload queue with the quarantine sync."""

    def __init__(self, uploads: UploadQueue, quarantine: QuarantineSync) -> None:
        self._uploads = uploads
        self._quarantine = quarantine

    def transfer(self, log: Path, idx: Path) -> None:
        self._uploads.transfer(log, idx)

    def open(self) -> None:
        self._uploads.open()
        self._quarantine.open()

    def close(self, deadline_s: float) -> None:
        # Stop both first, so that neither continues while the other ends.
        self._uploads.stop()
        self._quarantine.close(0)
        self._uploads.close(deadline_s)

    @property
    def backlog(self) -> Backlog:
        """Finished segments, with the errors of both threads."""
        backlog = self._uploads.backlog
        errors = [each for each in (backlog.error, self._quarantine.error) if each]
        return replace(backlog, error=" ".join(dict.fromkeys(errors)))
