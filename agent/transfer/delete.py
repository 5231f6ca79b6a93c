"""Finished segments are deleted."""

from pathlib import Path

from agent.transfer.base import Transfer


class DeleteTransfer(Transfer):
    """Deletes both files, the segment first: it is the one that fills `cdc_raw`."""

    def transfer(self, log: Path, idx: Path) -> None:
        log.unlink(missing_ok=True)
        idx.unlink(missing_ok=True)
