"""`agent offsets`: show, import and reset the stored offsets."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import click

from agent.cli.offsets_import import import_
from agent.config.loader import OFFSET_FILE, SNAPSHOT_FILE, AgentConfig, directory_problems
from agent.segments.offsets import NODE_ID_KEY, SegmentOffsets, offsets_from_entries
from sidecar.cli.invocation import Invocation, configuration_options
from sidecar.cli.offsets import accept_prefix_command
from sidecar.cli.output import MessageReport, json_output, print_json, print_message, print_rows
from sidecar.errors import ConfigError
from sidecar.files.locks import DirectoryLock
from sidecar.offsets.properties_store import PropertiesStore


@dataclass(frozen=True, slots=True)
class ResetOffsets(MessageReport):
    """The directory to which the old offsets were moved, and the names of the files."""

    directory: str
    files: tuple[str, ...]


@click.command("reset", short_help="Restart from the oldest segment.")
@configuration_options
@click.option("--snapshots", is_flag=True, help="Also reset the offsets of snapshots.")
@json_output(ResetOffsets)
@click.pass_obj
def reset(invocation: Invocation[AgentConfig], snapshots: bool) -> None:
    """Move the stored offsets away, so that the next start reads all segments in cdc_raw again.

    Stop the agent first. The agent delivers the events of these segments again, with the same ids.
    The offsets apply to all tables. The files are moved into a new folder, not deleted.
    """
    config = invocation.config()
    problems = directory_problems(config)
    if problems:
        raise ConfigError(*problems)
    directory = config.properties.offset_directory
    stored = (OFFSET_FILE, SNAPSHOT_FILE) if snapshots else (OFFSET_FILE,)
    with DirectoryLock(directory, private=directory):
        stores = [PropertiesStore(directory, file) for file in stored]
        present = [
            path for store in stores for path in (store.path, store.previous_path) if path.exists()
        ]
        if not present:
            raise ConfigError(f"{directory}: no offsets are stored, so there is nothing to reset.")
        folder = directory / f"reset-{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}"
        folder.mkdir()
        # Move the previous copy first: the agent would recover from it after an interrupted reset.
        for path in reversed(present):
            path.rename(folder / path.name)
    message = f"The next start reads from the oldest segment. The old offsets are in {folder}."
    files = tuple(path.name for path in present)
    print_message(invocation, ResetOffsets(message, str(folder), files))


@dataclass(frozen=True, slots=True)
class ShownOffsets:
    """The stored offsets of a node."""

    node_id: str | None
    """Null if no offsets are stored."""
    segments: Mapping[str, int | Literal["COMPLETED"]]
    """Positions by segment name: all events before the position are acknowledged."""


@click.group("offsets", short_help="Show, import or reset the stored offsets.")
@configuration_options
def offsets() -> None:
    """Show, import or reset the stored offsets, from which the agent resumes."""


offsets.add_command(accept_prefix_command(directory_problems, lambda config: config.state_stores))
offsets.add_command(import_)
offsets.add_command(reset)


@offsets.command("show", short_help="Show the stored offsets.")
@configuration_options
@json_output(ShownOffsets)
@click.pass_obj
def show(invocation: Invocation[AgentConfig]) -> None:
    """Show each segment with its offset: all events before it are acknowledged.

    A running agent can be ahead of its stored offsets; see /offsets.
    """
    directory = invocation.config().properties.offset_directory
    stored = stored_offsets(directory)
    shown = _shown(stored)
    if invocation.is_json:
        print_json(shown)
    elif stored is None:
        click.echo(f"No offsets are stored in {directory}. The agent starts at the oldest segment.")
    else:
        rows = [(name, str(position)) for name, position in shown.segments.items()]
        title = f"node {stored.node_id}"
        print_rows(("segment", "position"), rows, right=("position",), title=title)


def stored_offsets(directory: Path) -> SegmentOffsets | None:
    """Loads the stored offsets; returns None if there are none. Warns on stderr if the previous
    copy is used. Raises `OffsetStoreError`."""
    stored = PropertiesStore(directory, OFFSET_FILE).load()
    if stored.recovered_from_previous is not None:
        print(f"warning: {stored.recovered_from_previous}", file=sys.stderr)
    node_id = stored.values.get(NODE_ID_KEY)
    if node_id is None:
        return None
    return offsets_from_entries(stored.values, node_id)


def _shown(stored: SegmentOffsets | None) -> ShownOffsets:
    if stored is None:
        return ShownOffsets(None, {})
    names = sorted(stored.positions.keys() | stored.completed)
    return ShownOffsets(
        stored.node_id, {name.log: stored.positions.get(name, "COMPLETED") for name in names}
    )
