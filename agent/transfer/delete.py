"""Deletes finished segments."""

from pathlib import Path

from agent.transfer.base import Transfer


class DeleteTransfer(Transfer):
    """Deletes the segment first, because it fills `cdc_raw`."""

    def transfer(self, log: Path, idx: Path) -> None:
        log.unlink(missing_ok=True)
        idx.unlink(missing_ok=True)
