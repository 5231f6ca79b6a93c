"""`agent snapshot`: controls the snapshots of a running agent over HTTP."""

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click
import orjson
from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.text import Text

from agent.config import AgentConfig
from sidecar.cli.agent_client import AgentClient
from sidecar.cli.invocation import Invocation, configuration_options
from sidecar.errors import AccessDeniedError

_FOLLOW_INTERVAL_S = 1.0

_url = click.option("--url", help="URL of the agent. Default: `http.host` and `http.port`.")
_table = click.option("--table", required=True, metavar="KEYSPACE.TABLE", help="The table.")


@click.group("snapshot", short_help="Start, stop or monitor snapshots.")
@configuration_options
def snapshot() -> None:
    """Start, stop or monitor snapshots: copies of the existing rows of tables.

    The agent must be running.
    """


@snapshot.command("start", short_help="Copy a table from the beginning.")
@configuration_options
@_url
@_table
@click.pass_obj
def start(invocation: Invocation[AgentConfig], url: str | None, table: str) -> None:
    """Copy all rows of a table, even if it was copied before."""
    _send(_client(invocation, url), "start", table)


@snapshot.command("stop", short_help="Stop the snapshot of a table.")
@configuration_options
@_url
@_table
@click.pass_obj
def stop(invocation: Invocation[AgentConfig], url: str | None, table: str) -> None:
    """Stop the snapshot of a table. Only `start` restarts it."""
    _send(_client(invocation, url), "stop", table)


@snapshot.command("status", short_help="Show the state of snapshots.")
@configuration_options
@_url
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
    client = _client(invocation, url)
    with _shown(as_json) as show:
        while True:
            document = dict(client.get("/snapshot"))
            if table is not None:
                tables = document.get("tables", ())
                document["tables"] = [each for each in tables if each["table"] == table]
            show(document)
            if not follow or not document.get("is_running"):
                return
            time.sleep(_FOLLOW_INTERVAL_S)


def _client(invocation: Invocation[AgentConfig], url: str | None) -> AgentClient:
    if url is not None and not invocation.files:
        return AgentClient(url)
    return AgentClient.of(invocation.config().properties, url)


def _send(client: AgentClient, verb: str, table: str) -> None:
    answer = client.post(f"/snapshot/{verb}", {"table": table})
    if not answer.get("accepted"):
        raise AccessDeniedError(str(answer.get("message")))
    click.echo(answer["message"])


@contextmanager
def _shown(as_json: bool) -> Iterator[Any]:
    """Prints states: in place on a terminal, else one after the other."""
    if as_json:
        yield lambda document: click.echo(orjson.dumps(document).decode())
    elif not sys.stdout.isatty():
        yield lambda document: click.echo("\n".join(lines(document)))
    else:
        with Live(console=Console(), auto_refresh=False) as live:
            yield lambda document: live.update(drawn(document), refresh=True)


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


def drawn(document: Mapping[str, Any]) -> Group:
    """A progress bar for each table."""
    bars = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[note]}"),
    )
    for each in document["tables"]:
        note = f"{each['rows']} rows, {each['state']}"
        bars.add_task(each["table"], total=100, completed=round(each["percent"]), note=note)
    return Group(bars, Text(summary(document)))
