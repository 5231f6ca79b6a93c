"""Finished and quarantined segments, both sent to a store: two directories of it, two threads."""

from dataclasses import replace
from pathlib import Path

from agent.transfer.base import Backlog, Transfer
from agent.transfer.quarantine_sync import QuarantineSync
from agent.transfer.upload_queue import UploadQueue


class RemoteTransfer(Transfer):
    """The transfer of `uploads`, with `errors` beside it."""

    def __init__(self, uploads: UploadQueue, errors: QuarantineSync) -> None:
        self._uploads = uploads
        self._errors = errors

    def transfer(self, log: Path, idx: Path) -> None:
        self._uploads.transfer(log, idx)

    def open(self) -> None:
        self._uploads.open()
        self._errors.open()

    def close(self, deadline_s: float) -> None:
        # One does not send on while the other one is waited for.
        self._uploads.stop()
        self._errors.close(0)
        self._uploads.close(deadline_s)

    @property
    def backlog(self) -> Backlog:
        """Of finished segments; the troubles of both."""
        backlog = self._uploads.backlog
        troubles = [each for each in (backlog.trouble, self._errors.trouble) if each]
        return replace(backlog, trouble=" ".join(dict.fromkeys(troubles)))
