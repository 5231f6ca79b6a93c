"""`mongo-agent snapshot`: copies of a running agent, over its HTTP."""

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

from mongo_agent.config import MongoConfig
from mongo_agent.signals.client import SignalClient
from sidecar.cli.invocation import Invocation, configuration_options
from sidecar.errors import RefusedError

_FOLLOW_INTERVAL_S = 1.0
_KIND = {"type": "incremental"}

_url = click.option("--url", help="Of the agent; else as `http.host` and `http.port` have it.")


@click.group("snapshot", short_help="Copy collections again, pause, stop, look on.")
@configuration_options
def snapshot() -> None:
    """Copies of existing documents by the agent that runs."""


@snapshot.command("start", short_help="Copy collections beside the stream.")
@configuration_options
@_url
@click.argument("names", nargs=-1, required=True)
@click.option(
    "--filter",
    "filters",
    multiple=True,
    type=(str, str),
    metavar="NAME QUERY",
    help="Only documents that match a query, in extended JSON.",
)
@click.pass_obj
def start(
    invocation: Invocation[MongoConfig],
    url: str | None,
    names: tuple[str, ...],
    filters: tuple[tuple[str, str], ...],
) -> None:
    """Copy the collections NAMES: `database.collection`, or expressions over it."""
    conditions = [{"data-collection": name, "filter": query} for name, query in filters]
    data: dict[str, Any] = {**_KIND, "data-collections": list(names)}
    if conditions:
        data["additional-conditions"] = conditions
    _send(_client(invocation, url), "execute-snapshot", data)


@snapshot.command("stop", short_help="Give copies up.")
@configuration_options
@_url
@click.argument("names", nargs=-1)
@click.pass_obj
def stop(invocation: Invocation[MongoConfig], url: str | None, names: tuple[str, ...]) -> None:
    """Give up the copies of NAMES; without names, all of them, the initial one too."""
    data = {**_KIND, **({"data-collections": list(names)} if names else {})}
    _send(_client(invocation, url), "stop-snapshot", data)


@snapshot.command("pause", short_help="Read nothing more for copies.")
@configuration_options
@_url
@click.pass_obj
def pause(invocation: Invocation[MongoConfig], url: str | None) -> None:
    """Copies wait, also over restarts; the stream goes on."""
    _send(_client(invocation, url), "pause-snapshot", _KIND)


@snapshot.command("resume", short_help="Go on with copies.")
@configuration_options
@_url
@click.pass_obj
def resume(invocation: Invocation[MongoConfig], url: str | None) -> None:
    """Go on where copies were paused."""
    _send(_client(invocation, url), "resume-snapshot", _KIND)


@snapshot.command("status", short_help="Show how far copies are.")
@configuration_options
@_url
@click.option("--follow", is_flag=True, help="Until nothing is left to copy.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_obj
def status(
    invocation: Invocation[MongoConfig], url: str | None, follow: bool, as_json: bool
) -> None:
    """Each collection with its documents, and the time that is left."""
    client = _client(invocation, url)
    with _shown(as_json) as show:
        while True:
            copies = client.copies()
            show(copies)
            if not follow or not any(each.get("is_running") for each in copies.values()):
                return
            time.sleep(_FOLLOW_INTERVAL_S)


def _client(invocation: Invocation[MongoConfig], url: str | None) -> SignalClient:
    if url is not None and not invocation.files:
        return SignalClient(url)
    return SignalClient.of(invocation.config().properties, url)


def _send(client: SignalClient, kind: str, data: Mapping[str, Any]) -> None:
    answer = client.send(kind, data)
    if not answer.is_accepted:
        raise RefusedError(answer.sentence)
    click.echo(answer.sentence)


@contextmanager
def _shown(as_json: bool) -> Iterator[Any]:
    """Something to show copies with: drawn anew in a terminal, else one behind the other."""
    if as_json:
        yield lambda copies: click.echo(orjson.dumps(copies).decode())
    elif not sys.stdout.isatty():
        yield lambda copies: click.echo("\n".join(lines(copies)))
    else:
        with Live(console=Console(), auto_refresh=False) as live:
            yield lambda copies: live.update(drawn(copies), refresh=True)


def lines(copies: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """One for each collection, and one for all."""
    for name, view in copies.items():
        for each in view["collections"]:
            of = f" of about {each['estimated']}" if "estimated" in each else ""
            note = f" ({each['note']})" if "note" in each else ""
            yield f"{each['collection']} {each['state']}: {each['documents']}{of} documents{note}"
        yield f"{name}: {summary(view)}" if name else summary(view)


def summary(view: Mapping[str, Any]) -> str:
    """How much is left, in one sentence."""
    if not view["is_running"]:
        return "Nothing is being copied."
    sentence = f"{view['remaining_collections']} collections are left"
    if view["requests"]:
        sentence += f", {view['requests']} requests are being looked up"
    if view["is_paused"]:
        return f"{sentence}; copies are paused."
    if "remaining_s" in view:
        sentence += f", about {_duration(view['remaining_s'])}"
    return f"{sentence}."


def drawn(copies: Mapping[str, Mapping[str, Any]]) -> Group:
    """A bar for each collection whose number of documents is known."""
    parts: list[Progress | Text] = []
    for name, view in copies.items():
        bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[count]}"),
        )
        for each in view["collections"]:
            is_open = each["state"] in ("copying", "waiting")
            percent = each.get("percent", None if is_open else 100.0)
            bars.add_task(
                each["collection"],
                total=None if percent is None else 100,
                completed=round(percent or 0),
                count=f"{each['documents']} {each.get('note', each['state'])}",
            )
        parts += [bars, Text(f"{name}: {summary(view)}" if name else summary(view))]
    return Group(*parts)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
