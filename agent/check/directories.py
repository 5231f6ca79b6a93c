"""Checks of directories: access, file systems, free space, foreign files, stored offsets."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from agent.cdc_raw.observation import Observation
from agent.config.loader import AgentConfig, directory_warnings
from agent.config.node_settings import NodeSettings, cdc_total_limit_bytes
from agent.segments.offsets import NODE_ID_KEY, offsets_from_entries
from agent.snapshot.offsets import snapshot_offsets_from_entries
from sidecar.check.check import Finding, fault, first_names, ok, warning
from sidecar.errors import ConfigError, OffsetStoreError
from sidecar.quantities import size_text

_FULL_WARNING = 0.5
_FULL_FAULT = 0.9


def check_directory_rights(config: AgentConfig) -> Iterator[Finding]:
    for message in directory_warnings(config):
        yield fault(
            "directory rights",
            message,
            "Allow writes only for the users of the node and the agent. See "
            "docs/explanation/security.md for commands.",
            code="directory_world_writable",
        )


def check_file_systems(config: AgentConfig, settings: NodeSettings | None) -> Iterator[Finding]:
    """Checks whether segments can be linked and moved. Ignores unreadable directories."""
    raw, relocation = config.cdc_raw_directory, config.properties.relocation_directory
    of_raw, of_relocation = _device(raw), _device(relocation)
    if None not in (of_raw, of_relocation):
        if of_raw == of_relocation:
            yield ok("relocation", "The agent moves segments by rename.")
        else:
            yield warning(
                "relocation",
                f"{relocation} and {raw} are on different file systems: the agent copies segments.",
                "Put commit.log.relocation.dir on the file system of cdc_raw.",
                code="relocation_on_other_file_system",
            )
    commitlog = settings.commitlog_directory if settings is not None else None
    of_commitlog = None if commitlog is None else _device(commitlog)
    if None not in (of_raw, of_commitlog) and of_raw != of_commitlog:
        yield fault(
            "cdc_raw",
            f"{raw} and {commitlog} are on different file systems: the node cannot link segments.",
            "Change cdc_raw_directory or commitlog_directory in cassandra.yaml.",
            code="cdc_raw_on_other_file_system",
        )


def check_cdc_raw_usage(
    config: AgentConfig, seen: Observation, settings: NodeSettings | None
) -> Iterator[Finding]:
    """Checks the usage of `cdc_raw` if its limit is known."""
    if settings is None:
        return
    raw = config.cdc_raw_directory
    limit_bytes = cdc_total_limit_bytes(settings.cdc_total_bytes, shutil.disk_usage(raw).total)
    consequence = (
        "rejects writes" if settings.cdc_block_writes else "deletes the oldest segments unread"
    )
    message = (
        f"{raw} contains {len(seen.segments)} segments, {size_text(seen.size_bytes)} of "
        f"{size_text(limit_bytes)}. When it is full, the node {consequence}."
    )
    remedy = "Make sure that the agent runs and delivers. For longer outages raise cdc_total_space."
    if seen.size_bytes >= _FULL_FAULT * limit_bytes:
        yield fault("quota", message, remedy, code="cdc_raw_nearly_full")
    elif seen.size_bytes >= _FULL_WARNING * limit_bytes:
        yield warning("quota", message, remedy, code="cdc_raw_half_full")
    else:
        yield ok("quota", message)


def check_foreign_files(config: AgentConfig, seen: Observation) -> Iterator[Finding]:
    segments = seen.irregular_segments
    if segments:
        yield irregular_segments(config.cdc_raw_directory, segments)
    foreign = [name for name in seen.other_files if name not in segments]
    if foreign:
        shown = first_names(foreign)
        yield warning(
            "cdc_raw",
            f"Files that are not segments: {shown}.",
            f"Move them out of {config.cdc_raw_directory}; only the node's segments and index "
            "files belong there.",
            code="cdc_raw_unexpected_files",
        )


def irregular_segments(directory: Path, names: Sequence[str]) -> Finding:
    return fault(
        "segment names",
        f"{directory} contains links or irregular files with segment names, which the agent does "
        f"not read: {first_names(names)}.",
        f"The node never creates such files. Find the user who did, revoke that user's write "
        f"permission on {directory}, and move the files away.",
        code="segment_not_regular_file",
    )


def _device(path: Path) -> int | None:
    try:
        return path.stat().st_dev if path.is_dir() else None
    except OSError:
        return None


_RESTORE = "Restore the offset files from a copy, or move them away to read all segments again"


def check_offsets(config: AgentConfig, node_id: str | None) -> Iterator[Finding]:
    """Checks stored offsets. `node_id` is the node's host id, or None if unknown."""
    properties = config.properties
    directory = properties.offset_directory
    if not directory.is_dir():
        return
    try:
        stored, snapshots = (store.load() for store in config.state_stores)
        owner = stored.values.get(NODE_ID_KEY)
        offsets = offsets_from_entries(stored.values, node_id or owner or "")
        if not properties.schema_file:
            snapshot_offsets_from_entries(snapshots.values, node_id or owner or "")
    except ConfigError as error:
        yield fault(
            "offsets",
            str(error),
            "Run `agent offsets accept-prefix` or `agent offsets reset --snapshots`, as the "
            "message says. Until then the agent exits with code 2.",
            code="offsets_source_mismatch",
        )
        return
    except OffsetStoreError as error:
        remedy = f"{_RESTORE}. Until then the agent exits with code 1."
        yield fault("offsets", str(error), remedy, code="offsets_unreadable")
        return
    for each in (stored, snapshots):
        if each.recovered_from_previous is not None:
            yield warning(
                "offsets",
                each.recovered_from_previous,
                f"Check for a full or failing disk: df -h {directory}; dmesg.",
                code="offsets_recovered",
            )
    if owner is None:
        yield ok("offsets", "No offsets are stored; the agent starts at the oldest segment.")
    else:
        count = len(offsets.positions) + len(offsets.completed)
        yield ok("offsets", f"Offsets of {count} segments are stored.")
