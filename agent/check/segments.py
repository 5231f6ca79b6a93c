"""Checks that the agent can open the oldest and newest segments, and decrypt encrypted segments."""

import getpass
import grp
import os
import shlex
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from agent.cdc_raw.names import SegmentFiles
from agent.cdc_raw.observation import Observation
from agent.config.loader import AgentConfig
from agent.config.node_settings import NodeSettings
from agent.keystore.source import KeySource, open_segment, with_key_advice
from commitlog import CommitLogError, SegmentKeyError, read_descriptor
from sidecar.check.check import Finding, fault, ok
from sidecar.files.access import access_denial


def check_segments(
    directory: Path, seen: Observation, settings: NodeSettings | None
) -> Iterator[Finding]:
    """Reports only the first unreadable file, because all share an owner and a remedy."""
    ends = dict.fromkeys((*seen.segments[:1], *seen.segments[-1:]))
    files = (file for segment in ends for file in SegmentFiles(directory, segment.name))
    present = [file for file in files if file.exists()]
    for file in present:
        error = _error(file)
        if error is not None:
            yield fault(
                "segments",
                _message(file, error),
                _remedy(file, directory, settings),
                code="segment_not_readable",
            )
            return
    if present:
        yield ok("segments", "The oldest and the newest segment are readable.")


def _error(file: Path) -> OSError | None:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
    except FileNotFoundError:
        # A running agent has finished the segment.
        return None
    except OSError as error:
        return error
    try:
        os.read(descriptor, 1)
    except OSError as error:
        return error
    finally:
        os.close(descriptor)
    return None


def _message(file: Path, error: OSError) -> str:
    reason = f"{file} cannot be read: {error.strerror or error}."
    denial = access_denial(file) if isinstance(error, PermissionError) else None
    if denial is None:
        return reason
    kind = "directory" if denial.is_directory else "file"
    return (
        f"{reason} The {kind} {denial.path} has owner {denial.owner}, group {denial.group} and "
        f"mode {denial.mode:04o}; the agent has uid {denial.uid} and gid {denial.gid}."
    )


def _remedy(file: Path, directory: Path, settings: NodeSettings | None) -> str:
    """Returns commands for existing and future files. The node creates segments in the commit-log
    directory and indexes in `cdc_raw`, so both directories need the default ACL."""
    status = None
    with suppress(OSError):
        status = file.stat()
    if status is None or not stat.S_ISREG(status.st_mode):
        return (
            f"Grant the agent's user read permission on {directory}; see `namei -l "
            f"{shlex.quote(str(file))}`."
        )
    uid = os.geteuid()
    made_in = settings.commitlog_directory if settings is not None else None
    parents = " ".join(shlex.quote(str(each)) for each in (made_in, directory) if each is not None)
    acl = (
        f"`setfacl -m u:{uid}:r {shlex.quote(str(directory))}/CommitLog-*; "
        f"setfacl -d -m u:{uid}:r {parents}`"
    )
    group = _group(status.st_gid)
    if stat.S_IMODE(status.st_mode) & stat.S_IRGRP:
        return f"Run as root: usermod -aG {group} {_user()}, and restart the agent. Or: {acl}"
    return (
        f"Run as root: {acl}. Or start the node with `umask 0027`, then: usermod -aG {group} "
        f"{_user()}, and restart the agent."
    )


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"USER-OF-UID-{os.geteuid()}"


def _group(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def check_keys(config: AgentConfig, seen: Observation) -> Iterator[Finding]:
    """Checks that the keystore contains the segments' keys; yields one finding per key."""
    directory = config.cdc_raw_directory
    needed = _needed(directory, seen)
    if not needed:
        return
    keystore = KeySource(config.keystore)
    for alias, names in sorted(needed.items()):
        # If a key was replaced under the same alias, it decrypts only the newest segments.
        found = (_problem(directory, name, keystore) for name in {names[0], names[-1]})
        problem = next((each for each in found if each is not None), None)
        if problem is None:
            origin = keystore.keystore().origin
            yield ok("keystore", f'The key "{alias}" of {len(names)} segments is in {origin}.')
        else:
            yield fault(
                "keystore",
                f"{problem}.",
                "Correct commit.log.keystore.path and its passwords (keytool -list -keystore FILE "
                "lists aliases). Until then these segments are blocked.",
                code="encryption_key_missing",
            )


def _needed(directory: Path, seen: Observation) -> dict[str, list[str]]:
    """Segment names by key alias."""
    needed: dict[str, list[str]] = {}
    for segment in seen.segments:
        if segment.log is None:
            continue
        try:
            alias = read_descriptor(str(SegmentFiles(directory, segment.name).log)).key_alias
        except (CommitLogError, OSError):
            continue
        if alias is not None:
            needed.setdefault(alias, []).append(segment.name.log)
    return needed


def _problem(directory: Path, name: str, keystore: KeySource) -> str | None:
    try:
        reader = open_segment(directory / name, name, keystore)
        with with_key_advice(keystore):
            reader.verify(complete=False, max_bytes=1)
    except SegmentKeyError as error:
        return str(error)
    except (CommitLogError, OSError):
        return None
    return None
