"""`agent offsets`: the stored progress."""

import sys
from pathlib import Path

import click
import orjson
from rich.console import Console
from rich.table import Table

from agent.cli.accept_prefix import accept_prefix
from agent.cli.offsets_import import import_
from agent.cli.offsets_reset import reset
from agent.config import OFFSET_FILE, AgentConfig
from agent.segments import SegmentOffsets, offsets_from_entries
from agent.segments.offsets import NODE_ID_KEY
from sidecar.cli.invocation import Invocation, configuration_options
from sidecar.offsets import PropertiesStore


@click.group("offsets", short_help="Look at the progress, take it over, or begin anew.")
@configuration_options
def offsets() -> None:
    """The progress that a restart begins with."""


offsets.add_command(accept_prefix)
offsets.add_command(import_)
offsets.add_command(reset)


@offsets.command("show", short_help="Show it.")
@configuration_options
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_obj
def show(invocation: Invocation[AgentConfig], as_json: bool) -> None:
    """Each segment with the position up to which its events are acknowledged.

    A running agent may be further than what it stored: it answers /offsets.
    """
    directory = invocation.config().properties.offset_directory
    ledger = stored_offsets(directory)
    if as_json:
        click.echo(orjson.dumps(_document(ledger), option=orjson.OPT_INDENT_2).decode())
        return
    if ledger is None:
        click.echo(f"There is no progress in {directory}: the agent starts at the oldest segment.")
        return
    table = Table("segment", "position", title=f"node {ledger.node_id}")
    for name in sorted(ledger.positions.keys() | ledger.completed):
        position = ledger.positions.get(name)
        table.add_row(name.log, "COMPLETED" if position is None else str(position))
    Console().print(table)


def stored_offsets(directory: Path) -> SegmentOffsets | None:
    """None when nothing is stored. Raises `OffsetStoreError`.

    Says on stderr when the previous copy is used.
    """
    stored = PropertiesStore(directory, OFFSET_FILE).load()
    if stored.recovered_from_previous is not None:
        print(f"warning: {stored.recovered_from_previous}", file=sys.stderr)
    node_id = stored.values.get(NODE_ID_KEY)
    if node_id is None:
        return None
    return offsets_from_entries(stored.values, node_id)


def _document(ledger: SegmentOffsets | None) -> dict[str, object]:
    if ledger is None:
        return {"node_id": None, "segments": {}}
    names = sorted(ledger.positions.keys() | ledger.completed)
    return {
        "node_id": ledger.node_id,
        "segments": {name.log: ledger.positions.get(name, "COMPLETED") for name in names},
    }
