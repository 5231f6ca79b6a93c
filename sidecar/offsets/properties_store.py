"""The offset file: crash-safe Java properties with a checksum and a previous copy.

    #sha256=6f1c…                        over every byte after this line
    #Progress of the sidecar. …
    #format.version=1
    #topic.prefix=shop                   prefix of the topics of these offsets
    #fingerprint.CommitLog-7-1699.log=1a2b3c4d
    CommitLog-7-1699.log=40961
    CommitLog-7-1700.log=COMPLETED

The version, the prefix and names that begin with `#fingerprint.` are stored as comments.

There is always at least one good file. A save writes and syncs a temporary file, links the good
file as `<name>.previous`, and then renames the temporary file.
"""

import hashlib
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import javaproperties

from sidecar.errors import ConfigError, OffsetSaveError, OffsetStoreError
from sidecar.files.directories import sync_directory, temporary_of, write_synced
from sidecar.files.regular import link_regular, read_regular

_MAX_BYTES = 8 << 20
"""Enough for 100,000 segments; the parser takes half a second per MiB."""
_CHECKSUM = b"#sha256="
_REMARK = b"#Progress of the sidecar. A file that is changed by hand is not used.\n"
FORMAT_VERSION = 1
"""The only format version that this release writes and reads."""
_VERSION_LINE = re.compile(rb"^#format\.version=(.*)$", re.MULTILINE)
_PREFIX_LINE = re.compile(rb"^#topic\.prefix=(.*)$", re.MULTILINE)
_COMMENTED = "#fingerprint."
"""Prefix of the names that are stored as comments."""
_HEADER_LINES = 4
"""Version and prefix are only read from these first lines."""


@dataclass(frozen=True, slots=True)
class StoredOffsets:
    """The stored values; `recovered_from_previous` states why the previous copy was used.

    `topic_prefix` is the recorded prefix of the offsets' topics; None if there is none.
    """

    values: Mapping[str, str]
    recovered_from_previous: str | None = None
    topic_prefix: str | None = None


class OtherFormatError(OffsetStoreError):
    """A release with a different format version wrote the offset file."""


class PropertiesStore:
    """One file of names and values. The caller must lock the directory."""

    def __init__(self, directory: Path, file_name: str, topic_prefix: str | None = None) -> None:
        """`save` records the `topic_prefix`, and `load` rejects a file with a different prefix."""
        self._topic_prefix = topic_prefix
        self.path = directory / file_name
        self.previous_path = directory / f"{file_name}.previous"
        self._temporary_path = temporary_of(self.path)
        self._is_good: bool | None = None

    def load(self) -> StoredOffsets:
        """Return the stored values, or none before the first save. Raises OffsetStoreError if both
        files are damaged or one has a different format, ConfigError for a different prefix."""
        stored = self._load()
        if None not in (self._topic_prefix, stored.topic_prefix) and (
            stored.topic_prefix != self._topic_prefix
        ):
            raise ConfigError(
                f"`topic.prefix` is `{self._topic_prefix}`, and the offsets in {self.path} belong "
                f"to `{stored.topic_prefix}`: the new topics would begin empty. Set it to "
                f"`{stored.topic_prefix}`, or run `offsets accept-prefix` to publish later changes "
                "to the new topics. `snapshot start` then copies the existing data."
            )
        return stored

    def accept_prefix(self) -> str | None:
        """Record this store's prefix with existing values, and return the previous prefix. Raises
        OffsetStoreError and OffsetSaveError."""
        stored = self._load()
        if stored.values:
            self.save(stored.values)
        return stored.topic_prefix

    def _load(self) -> StoredOffsets:
        try:
            current, previous = _read(self.path), _read(self.previous_path)
        except OSError as error:
            raise OffsetStoreError(
                f"The offset file {error.filename} cannot be read: {error.strerror}."
            ) from error
        self._is_good = current.values is not None
        if current.values is not None:
            return StoredOffsets(current.values, None, current.topic_prefix)
        if previous.values is not None:
            return StoredOffsets(
                previous.values,
                f"The offset file {self.path} cannot be used: {current.damage or 'it is missing'}. "
                f"The agent uses the copy {self.previous_path.name} and may repeat some events.",
                previous.topic_prefix,
            )
        damage = [
            f"{path}: {reading.damage}"
            for path, reading in ((self.path, current), (self.previous_path, previous))
            if reading.damage
        ]
        if not damage:
            return StoredOffsets({})
        raise OffsetStoreError(
            f"No stored offsets can be used ({'; '.join(damage)}). Restore an intact copy, or move "
            "these files away: the agent then starts without offsets and repeats events."
        )

    def save(self, values: Mapping[str, str]) -> None:
        """Save durably. Raises OffsetSaveError; the previous values then remain stored."""
        try:
            write_synced(self._temporary_path, encode(values, self._topic_prefix))
            if self._is_good is None:
                self._is_good = _read(self.path).values is not None
            if self._is_good:
                self._keep_previous()
            self._temporary_path.rename(self.path)
            sync_directory(self.path.parent)
        except OSError as error:
            with suppress(OSError):
                self._temporary_path.unlink(missing_ok=True)
            raise OffsetSaveError(
                f"The offsets cannot be saved to {self.path}: {error.strerror}. "
                "Delivery continues; a restart repeats the events after the last save."
            ) from error
        self._is_good = True

    def _keep_previous(self) -> None:
        """Link the good file as the previous copy, so that a good file always exists."""
        link = temporary_of(self.previous_path)
        link.unlink(missing_ok=True)
        try:
            link_regular(self.path, link)
        except OSError:
            # A file system without hard links.
            write_synced(link, read_regular(self.path, _MAX_BYTES))
        link.rename(self.previous_path)
        # A rename to another name of the same file does nothing, and a crash may leave both names.
        link.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class _Reading:
    """One file: its values, or its damage; neither if the file does not exist."""

    values: Mapping[str, str] | None = None
    damage: str | None = None
    topic_prefix: str | None = None


def encode(values: Mapping[str, str], topic_prefix: str | None = None) -> bytes:
    """Encode values, sorted by name. A prefix consists of characters that topics may contain."""
    named = {name: value for name, value in values.items() if not name.startswith(_COMMENTED)}
    lines = javaproperties.dumps(named, timestamp=None, sort_keys=True)
    header = _REMARK + f"#format.version={FORMAT_VERSION}\n".encode("ascii")
    if topic_prefix is not None:
        header += f"#topic.prefix={topic_prefix}\n".encode("ascii")
    header += b"".join(
        f"{name}={values[name]}\n".encode("ascii")
        for name in sorted(values)
        if name.startswith(_COMMENTED)
    )
    body = header + lines.encode("ascii")
    return _CHECKSUM + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def decode(text: bytes) -> dict[str, str]:
    """Decode a file. Raises ValueError with the reason if `encode` did not write it."""
    if not text:
        raise ValueError("it is empty")
    first, newline, body = text.partition(b"\n")
    if not newline or not first.startswith(_CHECKSUM):
        raise ValueError("its first line is not a checksum")
    if first.removeprefix(_CHECKSUM) != hashlib.sha256(body).hexdigest().encode():
        raise ValueError("its checksum does not match (it is torn, damaged or was changed by hand)")
    comments = (line.split("=", 1) for line in body.decode("ascii").split("\n") if "=" in line)
    known = {name: value for name, value in comments if name.startswith(_COMMENTED)}
    return {**javaproperties.loads(body.decode("ascii")), **known}


def _read(path: Path) -> _Reading:
    try:
        text = read_regular(path, _MAX_BYTES)
        values = decode(text)
    except FileNotFoundError:
        return _Reading()
    except ValueError as error:
        return _Reading(damage=str(error))
    version, prefix = _header(text)
    if version != str(FORMAT_VERSION):
        raise OtherFormatError(
            f"The offset file {path} has format version {version}; this release reads "
            f"{FORMAT_VERSION}. Start the release that wrote it, restore the copy from before the "
            "upgrade, or move the file away: the agent then starts without offsets and repeats "
            "events."
        )
    return _Reading(values, None, prefix)


def _header(text: bytes) -> tuple[str, str | None]:
    lines = b"\n".join(text.split(b"\n", _HEADER_LINES)[:_HEADER_LINES])
    version, prefix = _VERSION_LINE.search(lines), _PREFIX_LINE.search(lines)
    return (
        "none" if version is None else version[1].decode("ascii", "replace").strip(),
        None if prefix is None else prefix[1].decode("ascii", "replace").strip(),
    )
