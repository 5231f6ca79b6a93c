"""The directories: there, usable, on the right file system, with room."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from agent.cdc_raw import Observation
from agent.config import AgentConfig, directory_problems, directory_warnings
from agent.config.node_settings import NodeSettings, cdc_total_limit_bytes
from sidecar.check.finding import Finding, fault, ok, size_text, warning

_FULL_WARNING = 0.5
_FULL_FAULT = 0.9
_SHOWN = 5


def check_directories(config: AgentConfig) -> Iterator[Finding]:
    """Whether they exist, can be read and written, and are apart from each other."""
    problems = directory_problems(config)
    for problem in problems:
        yield fault(
            "directories",
            problem,
            "Create it with the agent's user as owner (install -d -o USER DIRECTORY), or name "
            "another one; until then an agent that starts ends with exit code 2.",
            code="directory_unusable",
        )
    if not problems:
        properties = config.properties
        yield ok(
            "directories",
            f"{config.cdc_raw_directory}, {properties.relocation_directory} and "
            f"{properties.offset_directory} can be read and written.",
        )


def check_directory_rights(config: AgentConfig) -> Iterator[Finding]:
    """Whether other users of the machine can replace files in a directory of the agent."""
    for message in directory_warnings(config):
        yield fault(
            "directory rights",
            message,
            "Let only the node's and the agent's users write there: docs/explanation/security.md "
            "has the commands.",
            code="directory_writable_by_all",
        )


def check_file_systems(config: AgentConfig, settings: NodeSettings | None) -> Iterator[Finding]:
    """Whether segments can be linked and moved. Nothing for directories that cannot be seen."""
    raw, relocation = config.cdc_raw_directory, config.properties.relocation_directory
    of_raw, of_relocation = _device(raw), _device(relocation)
    if None not in (of_raw, of_relocation):
        if of_raw == of_relocation:
            yield ok("relocation", "Segments are moved by a rename.")
        else:
            yield warning(
                "relocation",
                f"{relocation} is on another file system than {raw}, so segments are copied.",
                "Put commit.log.relocation.dir on the file system of cdc_raw.",
                code="relocation_on_other_file_system",
            )
    commitlog = settings.commitlog_directory if settings is not None else None
    of_commitlog = None if commitlog is None else _device(commitlog)
    if None not in (of_raw, of_commitlog) and of_raw != of_commitlog:
        yield fault(
            "cdc_raw",
            f"{raw} is on another file system than {commitlog}; the node cannot link segments.",
            "Change cdc_raw_directory or commitlog_directory in cassandra.yaml.",
            code="cdc_raw_on_other_file_system",
        )


def check_cdc_raw_usage(
    config: AgentConfig, seen: Observation, settings: NodeSettings | None
) -> Iterator[Finding]:
    """How full `cdc_raw` is. Nothing while the node's limit is not known."""
    if settings is None:
        return
    raw = config.cdc_raw_directory
    limit_bytes = cdc_total_limit_bytes(settings.cdc_total_bytes, shutil.disk_usage(raw).total)
    consequence = (
        "refuses writes" if settings.cdc_block_writes else "deletes the oldest segments unread"
    )
    message = (
        f"{raw} has {len(seen.segments)} segments, {size_text(seen.size_bytes)} of "
        f"{size_text(limit_bytes)}; when it is full, the node {consequence}."
    )
    remedy = "See that the agent runs and delivers; raise cdc_total_space for longer outages."
    if seen.size_bytes >= _FULL_FAULT * limit_bytes:
        yield fault("quota", message, remedy, code="cdc_raw_nearly_full")
    elif seen.size_bytes >= _FULL_WARNING * limit_bytes:
        yield warning("quota", message, remedy, code="cdc_raw_half_full")
    else:
        yield ok("quota", message)


def check_foreign_files(config: AgentConfig, seen: Observation) -> Iterator[Finding]:
    """Files in `cdc_raw` that are no segments."""
    segments = seen.irregular_segments
    if segments:
        yield segment_refused(config.cdc_raw_directory, segments)
    foreign = [name for name in seen.refused if name not in segments]
    if foreign:
        shown = _shown(foreign)
        yield warning(
            "cdc_raw",
            f"Not segments: {shown}.",
            f"Move them out of {config.cdc_raw_directory}: nothing but the node's segments and "
            "index files belongs there.",
            code="cdc_raw_foreign_files",
        )


def segment_refused(directory: Path, names: Sequence[str]) -> Finding:
    """The fault of names of segments that are links or not regular files."""
    return fault(
        "segment names",
        f"{directory} has names of segments that are links or not regular files, so they are not "
        f"read: {_shown(names)}.",
        f"The node never makes such files. Find out which user did, remove that user's right to "
        f"write {directory}, then move the files out of it.",
        code="segment_refused",
    )


def _shown(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")


def _device(path: Path) -> int | None:
    try:
        return path.stat().st_dev if path.is_dir() else None
    except OSError:
        return None
