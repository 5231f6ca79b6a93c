"""`mongo-agent snapshot`: control of snapshots through the agent's HTTP server."""

from collections.abc import Iterator, Mapping
from typing import Any

import click
from rich.console import Group
from rich.progress import Progress
from rich.text import Text

from mongo_agent.config.loading import MongoConfig
from mongo_agent.signals.signal import SignalResult
from mongo_agent.snapshot.view import SnapshotView
from sidecar.cli.agent_client import AgentAddress, AgentClient, address_options
from sidecar.cli.invocation import Invocation, configuration_options
from sidecar.cli.output import json_output
from sidecar.cli.snapshots import SnapshotAnswer, empty_bars, print_answer, show_progress
from sidecar.quantities import duration_text

_KIND = {"type": "incremental"}


class SignalClient(AgentClient):
    def send(self, kind: str, data: Mapping[str, Any]) -> SignalResult:
        found = self.post("/signals", {"type": kind, "data": data})
        return SignalResult(bool(found.get("accepted")), str(found.get("message")))

    def snapshots(self) -> Mapping[str, Mapping[str, Any]]:
        """Get the progress of snapshots, by stream."""
        streams = self.get("/snapshot").get("streams")
        return streams if isinstance(streams, dict) else {}


@click.group("snapshot", short_help="Start, stop, pause or monitor snapshots.")
@configuration_options
def snapshot() -> None:
    """Control snapshots of existing documents in a running agent."""


@snapshot.command("start", short_help="Start snapshots of collections.")
@configuration_options
@address_options
@click.argument("names", nargs=-1, required=True)
@click.option(
    "--filter",
    "filters",
    multiple=True,
    type=(str, str),
    metavar="NAME QUERY",
    help="Include only documents that match a query in extended JSON.",
)
@click.option(
    "--replace",
    "replaces",
    is_flag=True,
    help="Also publish deletes of documents that exist only in the topics, after a drop or rename.",
)
@json_output(SnapshotAnswer)
@click.pass_obj
def start(
    invocation: Invocation[MongoConfig],
    address: AgentAddress,
    names: tuple[str, ...],
    filters: tuple[tuple[str, str], ...],
    replaces: bool,
) -> None:
    """Snapshot the collections NAMES: `database.collection`, or regular expressions over it."""
    if replaces and filters:
        raise click.UsageError("Use either --filter or --replace.")
    conditions = [{"data-collection": name, "filter": query} for name, query in filters]
    data: dict[str, Any] = {**_KIND, "data-collections": list(names)}
    if conditions:
        data["additional-conditions"] = conditions
    if replaces:
        data["replace"] = True
    _send(invocation, address, "execute-snapshot", data)


@snapshot.command("stop", short_help="Stop snapshots.")
@configuration_options
@address_options
@click.option("--all", "is_all", is_flag=True, help="Stop all snapshots.")
@click.argument("names", nargs=-1)
@json_output(SnapshotAnswer)
@click.pass_obj
def stop(
    invocation: Invocation[MongoConfig], address: AgentAddress, is_all: bool, names: tuple[str, ...]
) -> None:
    """Stop the snapshots of NAMES, or all snapshots, including the initial snapshot."""
    if is_all == bool(names):
        raise click.UsageError("Use either NAMES or --all.")
    data = {**_KIND, **({"data-collections": list(names)} if names else {})}
    _send(invocation, address, "stop-snapshot", data)


@snapshot.command("pause", short_help="Pause snapshots.")
@configuration_options
@address_options
@json_output(SnapshotAnswer)
@click.pass_obj
def pause(invocation: Invocation[MongoConfig], address: AgentAddress) -> None:
    """Pause snapshots, also across restarts. Streams continue."""
    _send(invocation, address, "pause-snapshot", _KIND)


@snapshot.command("resume", short_help="Resume paused snapshots.")
@configuration_options
@address_options
@json_output(SnapshotAnswer)
@click.pass_obj
def resume(invocation: Invocation[MongoConfig], address: AgentAddress) -> None:
    """Resume snapshots where they were paused."""
    _send(invocation, address, "resume-snapshot", _KIND)


@snapshot.command("status", short_help="Show the progress of snapshots.")
@configuration_options
@address_options
@click.option("--follow", is_flag=True, help="Refresh until all snapshots have ended.")
@json_output(
    dict[str, SnapshotView],
    lines=True,
    text="Print one line of JSON, streams by name; with --follow, one line per second.",
)
@click.pass_obj
def status(invocation: Invocation[MongoConfig], address: AgentAddress, follow: bool) -> None:
    """Print the number of documents copied from each collection, and the remaining time."""
    show_progress(
        SignalClient.of(invocation, address).snapshots,
        lines,
        progress_bars,
        as_json=invocation.is_json,
        is_followed=lambda snapshots: (
            follow and any(each.get("is_running") for each in snapshots.values())
        ),
    )


def _send(
    invocation: Invocation[MongoConfig], address: AgentAddress, kind: str, data: Mapping[str, Any]
) -> None:
    answer = SignalClient.of(invocation, address).send(kind, data)
    names = data.get("data-collections", ())
    print_answer(invocation, [(answer.is_accepted, answer.message)], names)


def lines(snapshots: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for name, view in snapshots.items():
        for each in view["collections"]:
            of = f" of about {each['estimated']}" if "estimated" in each else ""
            note = f" ({each['note']})" if "note" in each else ""
            yield f"{each['collection']} {each['state']}: {each['documents']}{of} documents{note}"
        yield f"{name}: {summary(view)}" if name else summary(view)


def summary(view: Mapping[str, Any]) -> str:
    """Describe the remaining work in one sentence."""
    if not view["is_running"]:
        return "No snapshot is running."
    sentence = f"{view['remaining_collections']} collections remaining"
    if view["requests"]:
        sentence += f", {view['requests']} pending requests"
    if view["is_paused"]:
        return f"{sentence}; snapshots are paused."
    if "remaining_s" in view:
        sentence += f", about {duration_text(view['remaining_s'])}"
    return f"{sentence}."


def progress_bars(snapshots: Mapping[str, Mapping[str, Any]]) -> Group:
    parts: list[Progress | Text] = []
    for name, view in snapshots.items():
        bars = empty_bars()
        for each in view["collections"]:
            is_open = each["state"] in ("copying", "waiting")
            percent = each.get("percent", None if is_open else 100.0)
            bars.add_task(
                each["collection"],
                total=None if percent is None else 100,
                completed=round(percent or 0),
                note=f"{each['documents']} {each.get('note', each['state'])}",
            )
        parts += [bars, Text(f"{name}: {summary(view)}" if name else summary(view))]
    return Group(*parts)
