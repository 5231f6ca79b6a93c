"""The directories: there, usable, on the right file system, with room."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from agent.cdc_raw import observe
from agent.config import AgentConfig, directory_problems
from agent.config.node_settings import NodeSettings, cdc_total_limit_bytes
from sidecar.check.finding import Finding, fault, ok, size_text, warning

_FULL_WARNING = 0.5
_FULL_FAULT = 0.9


def check_directories(config: AgentConfig, settings: NodeSettings | None) -> Iterator[Finding]:
    """`settings` are the node's, where they are known."""
    problems = directory_problems(config)
    for problem in problems:
        yield fault(
            "directories",
            problem,
            "Make it, let this user read and write it, or name another one.",
        )
    if problems:
        return
    properties = config.properties
    yield ok(
        "directories",
        f"{config.cdc_raw_directory}, {properties.relocation_directory} and "
        f"{properties.offset_directory} can be read and written.",
    )
    yield from check_file_systems(config, settings)
    yield from _content(config, settings)


def check_file_systems(config: AgentConfig, settings: NodeSettings | None) -> Iterator[Finding]:
    """Whether segments can be linked and moved. Raises OSError for a directory that is gone."""
    raw, relocation = config.cdc_raw_directory, config.properties.relocation_directory
    if _device(raw) == _device(relocation):
        yield ok("relocation", "Segments are moved by a rename.")
    else:
        yield warning(
            "relocation",
            f"{relocation} is on another file system than {raw}, so segments are copied.",
            "Put commit.log.relocation.dir on the file system of cdc_raw.",
        )
    commitlog = settings.commitlog_directory if settings is not None else None
    if commitlog is not None and commitlog.is_dir() and _device(commitlog) != _device(raw):
        yield fault(
            "cdc_raw",
            f"{raw} is on another file system than {commitlog}; the node cannot link segments.",
            "Change cdc_raw_directory or commitlog_directory in cassandra.yaml.",
            code="cdc_raw_on_other_file_system",
        )


def _content(config: AgentConfig, settings: NodeSettings | None) -> Iterator[Finding]:
    raw = config.cdc_raw_directory
    seen = observe(raw)
    limit_bytes = cdc_total_limit_bytes(
        settings.cdc_total_bytes if settings is not None else None, shutil.disk_usage(raw).total
    )
    blocks = settings is None or settings.cdc_block_writes
    consequence = "refuses writes" if blocks else "deletes the oldest segments unread"
    sentence = (
        f"{len(seen.segments)} segments, {size_text(seen.size_bytes)} of {size_text(limit_bytes)}; "
        f"when it is full, the node {consequence}."
    )
    remedy = "See that the agent runs and delivers; raise cdc_total_space for longer outages."
    if seen.size_bytes >= _FULL_FAULT * limit_bytes:
        yield fault("cdc_raw", sentence, remedy)
    elif seen.size_bytes >= _FULL_WARNING * limit_bytes:
        yield warning("cdc_raw", sentence, remedy)
    else:
        yield ok("cdc_raw", sentence)
    if seen.refused:
        yield warning(
            "cdc_raw",
            f"Not segments: {', '.join(seen.refused[:5])}{', …' if len(seen.refused) > 5 else ''}.",
            "Nothing but the node's segments and index files belongs there.",
        )


def _device(path: Path) -> int:
    return path.stat().st_dev
