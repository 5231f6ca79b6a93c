"""Directories that must not overlap: the agent deletes files where the node writes."""

from collections.abc import Iterator
from pathlib import Path

from agent.config.model import AgentProperties
from agent.config.node_settings import NodeSettings
from sidecar.files.directories import is_inside, overlap_problems

_SUBDIRECTORIES = ("archive", "upload", "error")
"""Created by the agent in `commit.log.relocation.dir`."""


def directory_conflicts(
    cdc_raw: Path, properties: AgentProperties, node: NodeSettings | None
) -> Iterator[str]:
    ours = [
        ("commit.log.relocation.dir", properties.relocation_directory),
        ("offset.backing.store.dir", properties.offset_directory),
    ]
    if properties.sink == "file" and properties.file_path is not None:
        ours.append(("file.path", properties.file_path))
    yield from overlap_problems(
        ("cdc_raw", cdc_raw),
        ours,
        "files that the agent writes there would count as files of the node",
    )
    for name in _SUBDIRECTORIES:
        directory = properties.relocation_directory / name
        if is_inside(cdc_raw, directory):
            yield (
                f"commit.log.relocation.dir: {cdc_raw} (`cdc_raw`) is in its directory `{name}`, "
                "where the agent moves and deletes segments. Use another directory."
            )
    commit_log = node.commitlog_directory if node is not None else None
    if commit_log is not None and is_inside(cdc_raw, commit_log) and is_inside(commit_log, cdc_raw):
        yield (
            f"cdc.raw.directory: {cdc_raw} is the node's commitlog_directory. The agent would "
            "delete segments that the node still needs. Use its cdc_raw_directory."
        )
