"""Archives finished segments in a local directory."""

from pathlib import Path

from agent.cdc_raw.move import move
from agent.transfer.base import Transfer
from sidecar.files.regular import make_directory

ARCHIVE = "archive"


class ArchiveTransfer(Transfer):
    """Moves both files to `<relocation directory>/archive`. Replaces a file of the same name: it is
    an earlier link of the same segment."""

    def __init__(self, relocation_directory: Path) -> None:
        self.directory = relocation_directory / ARCHIVE

    def transfer(self, log: Path, idx: Path) -> None:
        make_directory(self.directory)
        for source in (log, idx):
            move(source, self.directory / source.name)
