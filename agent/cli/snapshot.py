"""`agent snapshot`: the snapshot of a running agent, over its HTTP."""

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
from sidecar.errors import RefusedError

_FOLLOW_INTERVAL_S = 1.0

_url = click.option("--url", help="Of the agent; else as `http.host` and `http.port` have it.")
_table = click.option("--table", required=True, metavar="KEYSPACE.TABLE", help="Which table.")


@click.group("snapshot", short_help="Copy a table again, stop, look on.")
@configuration_options
def snapshot() -> None:
    """Copies of the rows that were there before, by the agent that runs."""


@snapshot.command("start", short_help="Copy a table from the beginning.")
@configuration_options
@_url
@_table
@click.pass_obj
def start(invocation: Invocation[AgentConfig], url: str | None, table: str) -> None:
    """Copy the rows of a table, also one that was copied before."""
    _send(_client(invocation, url), "start", table)


@snapshot.command("stop", short_help="Give a copy up.")
@configuration_options
@_url
@_table
@click.pass_obj
def stop(invocation: Invocation[AgentConfig], url: str | None, table: str) -> None:
    """Give the copy of a table up; only `start` begins it again."""
    _send(_client(invocation, url), "stop", table)


@snapshot.command("status", short_help="Show how far copies are.")
@configuration_options
@_url
@click.option("--table", metavar="KEYSPACE.TABLE", help="Only this table.")
@click.option("--follow", is_flag=True, help="Until nothing is left to copy.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_obj
def status(
    invocation: Invocation[AgentConfig],
    url: str | None,
    table: str | None,
    follow: bool,
    as_json: bool,
) -> None:
    """Each table with its rows, and how much of its token ranges is done."""
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
        raise RefusedError(str(answer.get("sentence")))
    click.echo(answer["sentence"])


@contextmanager
def _shown(as_json: bool) -> Iterator[Any]:
    """Something to show a status with: drawn anew in a terminal, else one behind the other."""
    if as_json:
        yield lambda document: click.echo(orjson.dumps(document).decode())
    elif not sys.stdout.isatty():
        yield lambda document: click.echo("\n".join(lines(document)))
    else:
        with Live(console=Console(), auto_refresh=False) as live:
            yield lambda document: live.update(drawn(document), refresh=True)


def lines(document: Mapping[str, Any]) -> Iterator[str]:
    """One for each table, and one for all."""
    for each in document["tables"]:
        yield f"{each['table']} {each['state']}: {each['rows']} rows, {each['percent']}%"
    yield summary(document)


def summary(document: Mapping[str, Any]) -> str:
    """What goes on, in one sentence."""
    if document.get("waiting"):
        return str(document["waiting"])
    left = sum(each["state"] == "copying" for each in document["tables"])
    return f"{left} tables are left." if left else "Nothing is being copied."


def drawn(document: Mapping[str, Any]) -> Group:
    """A bar for each table."""
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
