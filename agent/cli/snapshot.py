"""`agent snapshot`: controls the snapshots of a running agent over HTTP."""

from collections.abc import Iterator, Mapping
from typing import Any

import click
from rich.console import Group
from rich.text import Text

from agent.config.loader import AgentConfig
from sidecar.cli.agent_client import AgentClient
from sidecar.cli.invocation import Invocation, configuration_options
from sidecar.cli.snapshots import empty_bars, print_answer, show_progress, url_option

_table = click.option("--table", required=True, metavar="KEYSPACE.TABLE", help="The table.")


@click.group("snapshot", short_help="Start, stop or monitor snapshots.")
@configuration_options
def snapshot() -> None:
    """Start, stop or monitor snapshots: copies of the existing rows of tables.

    The agent must be running.
    """


@snapshot.command("start", short_help="Copy a table from the beginning.")
@configuration_options
@url_option
@_table
@click.pass_obj
def start(invocation: Invocation[AgentConfig], url: str | None, table: str) -> None:
    """Copy all rows of a table, even if it was copied before."""
    _send(invocation, url, "start", table)


@snapshot.command("stop", short_help="Stop the snapshot of a table.")
@configuration_options
@url_option
@_table
@click.pass_obj
def stop(invocation: Invocation[AgentConfig], url: str | None, table: str) -> None:
    """Stop the snapshot of a table. Only `start` restarts it."""
    _send(invocation, url, "stop", table)


@snapshot.command("status", short_help="Show the state of snapshots.")
@configuration_options
@url_option
@click.option("--table", metavar="KEYSPACE.TABLE", help="Show only this table.")
@click.option("--follow", is_flag=True, help="Repeat until no snapshot is running.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def status(
    invocation: Invocation[AgentConfig],
    url: str | None,
    table: str | None,
    follow: bool,
    as_json: bool,
) -> None:
    """Show each table with its copied rows and the completed part of its token ranges."""
    client = AgentClient.of(invocation, url)

    def fetch() -> Mapping[str, Any]:
        document = dict(client.get("/snapshot"))
        if table is not None:
            tables = document.get("tables", ())
            document["tables"] = [each for each in tables if each["table"] == table]
        return document

    show_progress(
        fetch,
        lines,
        render_progress,
        as_json=as_json,
        is_followed=lambda document: follow and bool(document.get("is_running")),
    )


def _send(invocation: Invocation[AgentConfig], url: str | None, verb: str, table: str) -> None:
    answer = AgentClient.of(invocation, url).post(f"/snapshot/{verb}", {"table": table})
    print_answer(bool(answer.get("accepted")), str(answer.get("message")))


def lines(document: Mapping[str, Any]) -> Iterator[str]:
    """One line for each table, and a summary."""
    for each in document["tables"]:
        yield f"{each['table']} {each['state']}: {each['rows']} rows, {each['percent']}%"
    yield summary(document)


def summary(document: Mapping[str, Any]) -> str:
    if document.get("waiting"):
        return str(document["waiting"])
    left = sum(each["state"] == "copying" for each in document["tables"])
    return f"Tables left: {left}." if left else "No snapshot is running."


def render_progress(document: Mapping[str, Any]) -> Group:
    """A progress bar for each table."""
    bars = empty_bars()
    for each in document["tables"]:
        note = f"{each['rows']} rows, {each['state']}"
        bars.add_task(each["table"], total=100, completed=round(each["percent"]), note=note)
    return Group(bars, Text(summary(document)))
