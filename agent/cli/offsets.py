"""`agent offsets`: show, import and reset the stored offsets."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click

from agent.cli.offsets_import import import_
from agent.cli.offsets_reset import reset
from agent.cli.start_problems import state_stores
from agent.config.loader import OFFSET_FILE, AgentConfig, directory_problems
from agent.segments.offsets import NODE_ID_KEY, SegmentOffsets, offsets_from_entries
from sidecar.cli.invocation import Invocation, configuration_options
from sidecar.cli.offsets import accept_prefix_command
from sidecar.cli.output import json_output, print_json
from sidecar.cli.tables import print_rows
from sidecar.offsets.properties_store import PropertiesStore


@dataclass(frozen=True, slots=True)
class ShownOffsets:
    """The stored offsets of a node."""

    node_id: str | None
    """Null when nothing is stored."""
    segments: Mapping[str, int | Literal["COMPLETED"]]
    """By the name of a segment: all events before this position are acknowledged."""


@click.group("offsets", short_help="Show, import or reset the stored offsets.")
@configuration_options
def offsets() -> None:
    """Show, import or reset the stored offsets, from which the agent resumes."""


offsets.add_command(accept_prefix_command(directory_problems, state_stores))
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
    """None when no offsets are stored. Warns on stderr when the previous copy is used. Raises
    `OffsetStoreError`."""
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
