"""Directories that must be apart: the agent deletes in one what the node writes in another."""

from collections.abc import Iterator
from pathlib import Path

from agent.config.model import AgentProperties
from agent.config.node_settings import NodeSettings
from sidecar.files.directories import is_inside, overlap_problems

_SUBDIRECTORIES = ("archive", "upload", "error")
"""Those that the agent creates in `commit.log.relocation.dir`."""


def directory_conflicts(
    cdc_raw: Path, properties: AgentProperties, node: NodeSettings | None
) -> Iterator[str]:
    """A sentence for each pair of directories that would harm each other."""
    ours = [
        ("commit.log.relocation.dir", properties.relocation_directory),
        ("offset.backing.store.dir", properties.offset_directory),
    ]
    if properties.sink == "file" and properties.file_path is not None:
        ours.append(("file.path", properties.file_path))
    yield from overlap_problems(
        ("cdc_raw", cdc_raw), ours, "what the agent writes there counts as a file of the node"
    )
    for name in _SUBDIRECTORIES:
        directory = properties.relocation_directory / name
        if is_inside(cdc_raw, directory):
            yield (
                f"commit.log.relocation.dir: {cdc_raw} (`cdc_raw`) is in its folder `{name}`, "
                "whose segments are moved and deleted. Name another directory."
            )
    commit_log = node.commitlog_directory if node is not None else None
    if commit_log is not None and is_inside(cdc_raw, commit_log) and is_inside(commit_log, cdc_raw):
        yield (
            f"cdc.raw.directory: {cdc_raw} is the node's commitlog_directory, whose segments the "
            "agent would delete before the node has flushed them. Name its cdc_raw_directory."
        )
