"""Segment files in command lines (directories, `.log`, `.log.gz`), and their keystore options."""

import functools
import gzip
import os
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn

from agent.cdc_raw.idx import NO_UPDATE, Idx, read_idx
from agent.cdc_raw.names import SegmentName, parse_log_name
from agent.config.node_settings import read_cassandra_yaml
from agent.keystore.source import KeySource, KeystoreSettings
from sidecar.errors import ConfigError


@dataclass(frozen=True)
class SegmentFile:
    """A segment on disk, with its original name."""

    path: Path
    name: SegmentName

    @property
    def is_compressed(self) -> bool:
        return self.path.suffix == ".gz"

    def idx(self) -> Idx:
        """Reads the index file of the segment; a missing file is no update. Raises OSError."""
        try:
            return read_idx(self.path.with_name(self.name.idx))
        except FileNotFoundError:
            return NO_UPDATE

    @contextmanager
    def decompressed(self) -> Iterator[Path]:
        """Yields the path of the decompressed file, which is temporary for `.gz`."""
        if not self.is_compressed:
            yield self.path
            return
        with tempfile.TemporaryDirectory(prefix="agent-dump-") as folder:
            target = Path(folder) / self.name.log
            try:
                with gzip.open(self.path) as compressed, target.open("wb") as plain:
                    shutil.copyfileobj(compressed, plain)
            except (gzip.BadGzipFile, EOFError, zlib.error) as error:
                raise OSError(0, f"not a complete gzip file ({error})", str(self.path)) from error
            yield target


def find_segments(paths: Sequence[Path]) -> list[SegmentFile]:
    """Finds segments in the order of `paths`; segments in a directory are sorted by id.

    Raises `ConfigError` if a path is neither a segment nor a directory with segments.
    """
    found: list[SegmentFile] = []
    for path in paths:
        try:
            path.stat()
        except FileNotFoundError as error:
            raise ConfigError(f"{path}: no such file or directory. Check the path.") from error
        except OSError as error:
            raise ConfigError(f"{path} cannot be read: {error.strerror}.") from error
        if path.is_dir():
            try:
                files = [file for file in path.iterdir() if file.is_file()]
            except OSError as error:
                raise ConfigError(f"{path} cannot be read: {error.strerror}.") from error
            inside = [segment for file in files if (segment := _segment(file)) is not None]
            if not inside:
                raise ConfigError(
                    f"{path}: the directory contains no segment (CommitLog-<version>-<id>.log)."
                )
            found += sorted(inside, key=lambda segment: segment.name)
            continue
        segment = _segment(path)
        if segment is None:
            raise ConfigError(
                f"{path}: not a segment name. Use CommitLog-<version>-<id>.log or .log.gz."
            )
        if not path.is_file():
            raise ConfigError(f"{path}: not a regular file.")
        found.append(segment)
    return found


@contextmanager
def progress_bar(
    description: str, total: int | None, *columns: ProgressColumn, is_shown: bool = True
) -> Iterator[Callable[..., None]]:
    """Shows a progress bar on a terminal. Yields a function with the options of
    `Progress.update`."""
    console = Console(stderr=True)
    if not is_shown or not console.is_terminal:
        yield lambda **_: None
        return
    texts = TextColumn("{task.description}"), BarColumn()
    with Progress(*texts, *columns, console=console, transient=True) as progress:
        yield functools.partial(progress.update, progress.add_task(description, total=total))


def _segment(path: Path) -> SegmentFile | None:
    name = parse_log_name(path.name.removesuffix(".gz"))
    return SegmentFile(path, name) if name is not None else None


PASSWORD_VARIABLE = "KEYSTORE_PASSWORD"
KEY_PASSWORD_VARIABLE = "KEYSTORE_KEY_PASSWORD"


def keystore_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds three options, and passes the resulting `KeySource` to the command as `keystore`."""

    @click.option(
        "--keystore",
        "keystore_path",
        type=click.Path(path_type=Path),
        help="The node's keystore, for encrypted segments. Password: environment variable "
        f"{PASSWORD_VARIABLE}, or --keystore-password-file. Password of the keys, if different: "
        f"{KEY_PASSWORD_VARIABLE}.",
    )
    @click.option(
        "--keystore-password-file",
        type=click.Path(path_type=Path),
        help="File with the password of the keystore.",
    )
    @click.option(
        "--cassandra-config",
        type=click.Path(path_type=Path),
        help="The node's cassandra.yaml, which configures its keystore.",
    )
    @functools.wraps(command)
    def with_keystore(
        *arguments: Any,
        keystore_path: Path | None,
        keystore_password_file: Path | None,
        cassandra_config: Path | None,
        **options: Any,
    ) -> Any:
        settings = _settings(keystore_path, keystore_password_file, cassandra_config)
        return command(*arguments, keystore=KeySource(settings), **options)

    return with_keystore


def _settings(
    path: Path | None, password_file: Path | None, cassandra_config: Path | None
) -> KeystoreSettings | None:
    if path is None:
        if cassandra_config is None:
            return None
        return read_cassandra_yaml(cassandra_config).keystore
    password = os.environ.get(PASSWORD_VARIABLE)
    if password_file is not None:
        try:
            password = password_file.read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"--keystore-password-file: cannot read {password_file}.") from error
    if password is None:
        raise ConfigError(
            f"--keystore requires a password: set {PASSWORD_VARIABLE} or --keystore-password-file."
        )
    key_password = os.environ.get(KEY_PASSWORD_VARIABLE)
    return KeystoreSettings(path.absolute(), password, key_password, None, "--keystore")
