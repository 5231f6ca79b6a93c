"""`agent offsets`: show, import and reset the stored offsets."""

import sys
from pathlib import Path

import click
import orjson
from rich.console import Console
from rich.table import Table

from agent.cli.offsets_import import import_
from agent.cli.offsets_reset import reset
from agent.cli.start_problems import state_stores
from agent.config.loader import OFFSET_FILE, AgentConfig, directory_problems
from agent.segments.offsets import NODE_ID_KEY, SegmentOffsets, offsets_from_entries
from sidecar.cli.invocation import Invocation, configuration_options
from sidecar.cli.offsets import accept_prefix_command
from sidecar.offsets.properties_store import PropertiesStore


@click.group("offsets", short_help="Show, import or reset the stored offsets.")
@configuration_options
def offsets() -> None:
    """Show, import or reset the stored offsets, from which the agent resumes."""


offsets.add_command(accept_prefix_command(directory_problems, state_stores))
offsets.add_command(import_)
offsets.add_command(reset)


@offsets.command("show", short_help="Show the stored offsets.")
@configuration_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def show(invocation: Invocation[AgentConfig], as_json: bool) -> None:
    """Show each segment with its offset: all events before it are acknowledged.

    A running agent can be ahead of its stored offsets; see /offsets.
    """
    directory = invocation.config().properties.offset_directory
    stored = stored_offsets(directory)
    if as_json:
        click.echo(orjson.dumps(_document(stored), option=orjson.OPT_INDENT_2).decode())
        return
    if stored is None:
        click.echo(f"No offsets are stored in {directory}. The agent starts at the oldest segment.")
        return
    table = Table("segment", "position", title=f"node {stored.node_id}")
    for name in sorted(stored.positions.keys() | stored.completed):
        position = stored.positions.get(name)
        table.add_row(name.log, "COMPLETED" if position is None else str(position))
    Console().print(table)


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


def _document(stored: SegmentOffsets | None) -> dict[str, object]:
    if stored is None:
        return {"node_id": None, "segments": {}}
    names = sorted(stored.positions.keys() | stored.completed)
    return {
        "node_id": stored.node_id,
        "segments": {name.log: stored.positions.get(name, "COMPLETED") for name in names},
    }
