"""Keeps finished segments in a mounted folder, such as NFS.

    commit.log.transfer.class=examples.transfer.mounted_folder:MountedFolder
    commit.log.transfer.folder=/mnt/segments

A file gets its final name only after its bytes are synced to disk and compared. So a repeated call
replaces a file with the same bytes, and a killed process leaves no partial file under a final name.
"""

import hashlib
import os
import shutil
from pathlib import Path

from agent.transfer.segment_transfer import FinishedSegment, SegmentError, TransferSettings


class MountedFolder:
    """Copies segments to `<folder>/<node id>/CommitLog-….log`, with their indexes."""

    def __init__(self, settings: TransferSettings) -> None:
        self.root = Path(settings.options["folder"])
        self.folder = self.root / settings.node_id

    def transfer(self, segment: FinishedSegment) -> None:
        if not self.root.is_mount() and not self.root.is_dir():
            raise OSError(f"{self.root} is not mounted")
        self.folder.mkdir(exist_ok=True)
        # Copies the segment last: a reader that finds it also finds its index.
        for source in filter(None, (segment.idx, segment.log)):
            self._copy(source)

    def _copy(self, source: Path) -> None:
        target = self.folder / source.name
        temporary = self.folder / f".{source.name}.tmp"
        with source.open("rb") as original, temporary.open("wb") as copy:
            shutil.copyfileobj(original, copy, 1 << 20)
            copy.flush()
            os.fsync(copy.fileno())
        if _digest(temporary) != _digest(source):
            raise SegmentError(f"{temporary} differs from {source}")
        temporary.replace(target)


def _digest(file: Path) -> bytes:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").digest()
