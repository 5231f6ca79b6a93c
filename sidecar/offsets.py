"""Progress that survives a crash: a Java properties file with a checksum and a previous copy.

    #sha256=6f1c…                        over every byte behind this line
    #Progress of the sidecar. …
    CommitLog-7-1699.log=40961
    CommitLog-7-1700.log=COMPLETED

A save never leaves less than one good file: the new text goes to a temporary file and is synced,
the good file is linked as `<name>.previous`, and only then does a rename put the new one in place.
"""

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import javaproperties

from sidecar.durable import sync_directory, write_synced
from sidecar.errors import OffsetSaveError, OffsetStoreError

_CHECKSUM = b"#sha256="
_REMARK = b"#Progress of the sidecar. A file that is changed by hand is not used.\n"


@dataclass(frozen=True, slots=True)
class StoredOffsets:
    """What was stored; `recovered_from_previous` says why the previous copy had to be used."""

    values: Mapping[str, str]
    recovered_from_previous: str | None = None


class PropertiesStore:
    """One file of names and values. The directory is locked by whoever uses it."""

    def __init__(self, directory: Path, file_name: str) -> None:
        self.path = directory / file_name
        self.previous_path = directory / f"{file_name}.previous"
        self._temporary_path = directory / f".{file_name}.tmp"
        self._is_good: bool | None = None

    def load(self) -> StoredOffsets:
        """Nothing stored yet gives no values. Raises OffsetStoreError when both files are bad."""
        try:
            current, previous = _read(self.path), _read(self.previous_path)
        except OSError as error:
            raise OffsetStoreError(
                f"The offset file {error.filename} cannot be read: {error.strerror}."
            ) from error
        self._is_good = current.values is not None
        if current.values is not None:
            return StoredOffsets(current.values)
        if previous.values is not None:
            return StoredOffsets(
                previous.values,
                f"The offset file {self.path} is not used: {current.damage or 'it is gone'}. "
                f"The previous copy {self.previous_path.name} is, so some events may be repeated.",
            )
        damage = [
            f"{path}: {reading.damage}"
            for path, reading in ((self.path, current), (self.previous_path, previous))
            if reading.damage
        ]
        if not damage:
            return StoredOffsets({})
        raise OffsetStoreError(
            f"No stored progress can be used ({'; '.join(damage)}). Put a good copy back, or move "
            "these files away to start from the oldest data that is there; nothing is lost then, "
            "but all of it is delivered again."
        )

    def save(self, values: Mapping[str, str]) -> None:
        """Durable on return. Raises OffsetSaveError; what was stored before is still there then."""
        try:
            write_synced(self._temporary_path, encode(values))
            if self._current_is_good():
                self._keep_previous()
            self._temporary_path.rename(self.path)
            sync_directory(self.path.parent)
        except OSError as error:
            with suppress(OSError):
                self._temporary_path.unlink(missing_ok=True)
            raise OffsetSaveError(
                f"Progress cannot be saved to {self.path}: {error.strerror}. Delivery goes on; "
                "a restart repeats what came after the last save."
            ) from error
        self._is_good = True

    def _current_is_good(self) -> bool:
        if self._is_good is None:
            self._is_good = _read(self.path).values is not None
        return self._is_good

    def _keep_previous(self) -> None:
        """Give the good file its second name, so that there is no moment without one."""
        link = self.previous_path.with_name(f".{self.previous_path.name}.tmp")
        link.unlink(missing_ok=True)
        try:
            link.hardlink_to(self.path)
        except OSError:
            # A file system without hard links.
            write_synced(link, self.path.read_bytes())
        link.rename(self.previous_path)
        # A rename between two names of one file does nothing; a crash before may have left both.
        link.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class _Reading:
    """One file: its values, or why it has none; neither when there is no such file."""

    values: Mapping[str, str] | None = None
    damage: str | None = None


def encode(values: Mapping[str, str]) -> bytes:
    """The file for these values, sorted by name."""
    lines = javaproperties.dumps(values, timestamp=None, sort_keys=True)
    body = _REMARK + lines.encode("ascii")
    return _CHECKSUM + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def decode(text: bytes) -> dict[str, str]:
    """The values of a file; ValueError with the reason when it is not as `encode` wrote it."""
    if not text:
        raise ValueError("it is empty")
    first, newline, body = text.partition(b"\n")
    if not newline or not first.startswith(_CHECKSUM):
        raise ValueError("its first line is not a checksum")
    if first.removeprefix(_CHECKSUM) != hashlib.sha256(body).hexdigest().encode():
        raise ValueError("its checksum does not match (it is torn, damaged or was changed by hand)")
    return javaproperties.loads(body.decode("ascii"))


def _read(path: Path) -> _Reading:
    try:
        return _Reading(values=decode(path.read_bytes()))
    except FileNotFoundError:
        return _Reading()
    except ValueError as error:
        return _Reading(damage=str(error))
