"""A store that is a folder, with files whose names make it do what real ones do."""

import shutil
import threading
from dataclasses import dataclass
from pathlib import Path

from sidecar.store.base import StoreError

HANGING, REFUSED, FORBIDDEN, BROKEN = "hanging", "refused", "forbidden", "broken"


@dataclass(frozen=True)
class FolderStore:
    """`folder` takes the files; a file named as one of the words above is not taken.

    It hangs for ever at a file of the name `hanging`, and leaves a file `hanging` then.
    """

    folder: Path
    hanging: str = HANGING

    @property
    def address(self) -> str:
        return f"folder:{self.folder.name}"

    def put(self, file: Path) -> bool:
        if file.name == self.hanging:
            (self.folder / HANGING).touch()
            threading.Event().wait()
        if file.name == REFUSED:
            raise StoreError("It refuses this one.", is_segment_specific=True)
        if file.name == FORBIDDEN:
            raise StoreError("It lets nobody in.", is_forbidden=True)
        if file.name == BROKEN:
            raise AssertionError("a fault of the store's own")
        is_new = not (self.folder / file.name).exists()
        shutil.copyfile(file, self.folder / file.name)
        return is_new

    def names(self) -> list[str]:
        return sorted(each.name for each in self.folder.iterdir())

    def get(self, name: str, target: Path) -> bool:
        if not (self.folder / name).exists():
            return False
        shutil.copyfile(self.folder / name, target)
        return True

    def remove(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)
