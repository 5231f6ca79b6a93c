"""`agent snapshot`: controls the snapshots of a running agent over HTTP."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click
from rich.console import Group
from rich.text import Text

from agent.config.loader import AgentConfig
from sidecar.cli.agent_client import AgentAddress, AgentClient, address_options, agents_answer
from sidecar.cli.invocation import Invocation, configuration_options
from sidecar.cli.output import json_output
from sidecar.cli.snapshots import (
    SnapshotAnswer,
    empty_bars,
    print_answer,
    show_progress,
)

_tables = click.argument("tables", nargs=-1, metavar="KEYSPACE.TABLE…")


@dataclass(frozen=True, slots=True)
class SnapshotTable:
    """The snapshot of one table."""

    table: str
    id: str
    state: str
    """`copying`, `completed`, `stopped` or `refused`."""
    rows: int
    percent: float
    """Completed percentage of the token ranges."""
    ranges: int
    ranges_done: int
    started_at: str
    reason: str = ""
    """Why a refused table cannot be read."""


@dataclass(frozen=True, slots=True)
class SnapshotStatus:
    """All snapshots. Without a connection to a node, only an empty `tables` is present."""

    tables: tuple[SnapshotTable, ...]
    mode: str = ""
    consistency: str = ""
    ranges: str = ""
    """`primary`, `replica` or `all`."""
    is_running: bool = False
    waiting: str | None = None
    """Why rows cannot be read."""
    counter_tables: int = 0


@click.group("snapshot", short_help="Start, stop or monitor snapshots.")
@configuration_options
def snapshot() -> None:
    """Start, stop or monitor snapshots: copies of the existing rows of tables.

    The agent must be running.
    """


@snapshot.command("start", short_help="Copy tables from the beginning.")
@configuration_options
@address_options
@_tables
@json_output(SnapshotAnswer)
@click.pass_obj
def start(
    invocation: Invocation[AgentConfig],
    address: AgentAddress,
    tables: tuple[str, ...],
) -> None:
    """Copy all rows of tables, even if they were copied before."""
    if not tables:
        raise click.UsageError("Specify the tables to copy: KEYSPACE.TABLE…")
    _send(invocation, AgentClient.of(invocation, address), "start", tables)


@snapshot.command("stop", short_help="Stop the snapshots of tables.")
@configuration_options
@address_options
@click.option("--all", "is_all", is_flag=True, help="Stop all running snapshots.")
@_tables
@json_output(SnapshotAnswer)
@click.pass_obj
def stop(
    invocation: Invocation[AgentConfig],
    address: AgentAddress,
    is_all: bool,
    tables: tuple[str, ...],
) -> None:
    """Stop the snapshots of tables. Only `start` restarts them."""
    if is_all == bool(tables):
        raise click.UsageError("Specify tables as KEYSPACE.TABLE, or use --all.")
    client = AgentClient.of(invocation, address)
    if is_all:
        with agents_answer():
            found = client.get("/snapshot").get("tables", ())
            tables = tuple(each["table"] for each in found if each["state"] == "copying")
    _send(invocation, client, "stop", tables)


@snapshot.command("status", short_help="Show the state of snapshots.")
@configuration_options
@address_options
@click.option("--follow", is_flag=True, help="Repeat until no snapshot is running.")
@_tables
@json_output(
    SnapshotStatus, lines=True, text="Print one line of JSON; with --follow, one per second."
)
@click.pass_obj
def status(
    invocation: Invocation[AgentConfig],
    address: AgentAddress,
    follow: bool,
    tables: tuple[str, ...],
) -> None:
    """Show the copied rows and the completed part of the token ranges, for all tables or for the
    given tables."""
    client = AgentClient.of(invocation, address)

    def fetch() -> Mapping[str, Any]:
        document = dict(client.get("/snapshot"))
        if tables:
            known = document.get("tables", ())
            document["tables"] = [each for each in known if each["table"] in tables]
        return document

    show_progress(
        fetch,
        lines,
        render_progress,
        as_json=invocation.is_json,
        is_followed=lambda document: follow and bool(document.get("is_running")),
    )


def _send(
    invocation: Invocation[AgentConfig], client: AgentClient, verb: str, tables: Sequence[str]
) -> None:
    answers = []
    for table in tables:
        answer = client.post(f"/snapshot/{verb}", {"table": table})
        answers.append((bool(answer.get("accepted")), str(answer.get("message"))))
    if not answers:
        answers.append((True, "No snapshot is running."))
    print_answer(invocation, answers, tables)


def lines(document: Mapping[str, Any]) -> Iterator[str]:
    for each in document["tables"]:
        yield f"{each['table']} {each['state']}: {each['rows']:,} rows, {each['percent']}%"
    yield summary(document)


def summary(document: Mapping[str, Any]) -> str:
    if document.get("waiting"):
        return str(document["waiting"])
    left = sum(each["state"] == "copying" for each in document["tables"])
    return f"Tables left: {left}." if left else "No snapshot is running."


def render_progress(document: Mapping[str, Any]) -> Group:
    bars = empty_bars()
    for each in document["tables"]:
        note = f"{each['rows']:,} rows, {each['state']}"
        bars.add_task(each["table"], total=100, completed=round(each["percent"]), note=note)
    return Group(bars, Text(summary(document)))
