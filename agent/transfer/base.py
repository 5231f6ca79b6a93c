"""The contract of a transfer."""

from pathlib import Path
from typing import Protocol


class Transfer(Protocol):
    """Takes a finished segment out of `cdc_raw`.

    Either file may be missing, because a crash came in between or the node removed it; then the
    other one still leaves. Doing it twice is harmless.
    """

    def transfer(self, log: Path, idx: Path) -> None:
        """Both files are gone on return. Raises OSError; then it is tried again later."""
