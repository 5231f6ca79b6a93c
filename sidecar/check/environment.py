"""Checks of the agent's environment: transform, tracing, token, sink file, quarantine size."""

import os
import shlex
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from sidecar.check.check import Finding, fault, ok, warning
from sidecar.config.settings import SidecarProperties
from sidecar.delivery.sink_registry import sink_problems
from sidecar.errors import ConfigError
from sidecar.http.token import read_token
from sidecar.quantities import size_text
from sidecar.tracing.open_telemetry import create_tracing
from sidecar.transform import transform_named

_ENDS = "Until then the agent exits with code 2."
_OTHERS = stat.S_IRGRP | stat.S_IROTH
_NEARLY_FULL = 0.9


def check_transform(properties: SidecarProperties) -> Iterator[Finding]:
    """Check whether the module contains the function. Imports the module."""
    name = properties.event_transform
    if name is None:
        return
    try:
        transform_named(name)
    except ConfigError as error:
        remedy = f"Correct event.transform, or install the module. {_ENDS}"
        yield fault("event.transform", str(error), remedy, code="transform_unusable")
    else:
        yield ok("event.transform", f"{name} is a function.")


def check_tracing(is_enabled: bool) -> Iterator[Finding]:
    """Check whether the tracing packages are installed, without opening connections."""
    if not is_enabled:
        return
    try:
        tracing = create_tracing(True, "check", "")
    except ConfigError as error:
        remedy = f"pip install 'cdc-sidecar[tracing]', or set tracing.enabled=false. {_ENDS}"
        yield fault("tracing", str(error), remedy, code="tracing_unusable")
    else:
        if tracing is not None:
            tracing.close(0.0)
        yield ok("tracing", "The required packages are installed.")


def check_token(properties: SidecarProperties) -> Iterator[Finding]:
    """Check whether the file contains a token that only the agent's user can read."""
    file = properties.http_token_file
    if file is None:
        return
    try:
        read_token(file)
    except ConfigError as error:
        yield fault(
            "http.token.file",
            str(error),
            f"Write a token to it: openssl rand -hex 32 > {file}. The agent's user (uid "
            f"{os.geteuid()}) must be able to read it.",
            code="http_token_unusable",
        )
        return
    mode = stat.S_IMODE(file.stat().st_mode)
    if mode & _OTHERS:
        yield warning(
            "http.token.file",
            f"{file} has mode {mode:04o}: other users of this machine can read the token.",
            f"`chmod {mode & ~0o077:04o} {shlex.quote(str(file))}`",
            code="http_token_readable_by_others",
        )
    else:
        yield ok("http.token.file", f"{file} contains a token.")


def check_sink(properties: SidecarProperties) -> Iterator[Finding]:
    """Check the sink's settings and output file, without creating files or connections."""
    for problem in sink_problems(properties):
        remedy = f"Correct kafka.producer.* or topic.creation.default.*. {_ENDS}"
        yield fault("sink", problem, remedy, code="sink_settings_invalid")
    if properties.sink != "file" or properties.file_path is None:
        return
    reason = _reason(properties.file_path)
    if reason:
        yield fault(
            "file.path",
            f"The file {properties.file_path} (file.path) cannot be written: {reason}.",
            f"Configure a regular file that the agent's user (uid {os.geteuid()}) can write. "
            f"{_ENDS}",
            code="sink_file_unusable",
        )
    elif properties.file_path.parent.is_dir():
        yield ok("file.path", f"{properties.file_path} is writable.")


def check_configuration(warnings: Iterable[str], command: str) -> Iterator[Finding]:
    for message in warnings:
        remedy = f"`{command} config docs` describes every property."
        yield warning("configuration", message, remedy, code="configuration_questionable")


def check_directories(problems: Sequence[str], usable: str) -> Iterator[Finding]:
    """Yield a fault for each directory problem, or the message `usable` if there are none."""
    for problem in problems:
        yield fault(
            "directories",
            problem,
            "Create a missing directory for the agent's user (install -d -o USER DIRECTORY), or "
            f"configure a different one. {_ENDS}",
            code="directory_unusable",
        )
    if not problems:
        yield ok("directories", usable)


class BoundedDirectory(Protocol):
    """A quarantine. `size_bytes` may raise OSError."""

    directory: Path
    max_bytes: int

    def size_bytes(self) -> int: ...


def check_quarantine(quarantine: BoundedDirectory) -> Iterator[Finding]:
    """Check whether the quarantine has free space."""
    directory, max_bytes = quarantine.directory, quarantine.max_bytes
    try:
        used_bytes = quarantine.size_bytes()
    except OSError:
        # `check_directories` reports it.
        used_bytes = 0
    if not max_bytes:
        yield warning(
            "quarantine",
            "quarantine.max.bytes=0 disables the quarantine: undeliverable segments stay in "
            "cdc_raw, and the first undeliverable event stops delivery.",
            "Set quarantine.max.bytes to the size of several segments, such as 1Gi.",
            code="quarantine_disabled",
        )
    elif used_bytes >= _NEARLY_FULL * max_bytes:
        yield warning(
            "quarantine",
            f"{directory} uses {size_text(used_bytes)} of {size_text(max_bytes)}. Once it is full, "
            "undeliverable segments stay in cdc_raw, and the next undeliverable event stops "
            "delivery.",
            "Discard resolved entries, or raise quarantine.max.bytes.",
            code="quarantine_nearly_full",
        )
    else:
        message = f"The quarantine uses {size_text(used_bytes)} of {size_text(max_bytes)}."
        yield ok("quarantine", message)


def _reason(path: Path) -> str:
    """Return why a file is not writable, or an empty text. The directory of a missing file is
    checked with the other directories."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return ""
    except OSError as error:
        return error.strerror or str(error)
    if stat.S_ISDIR(mode):
        return "Is a directory"
    if not stat.S_ISREG(mode):
        return "it is not a regular file"
    return "" if os.access(path, os.R_OK | os.W_OK) else "Permission denied"
