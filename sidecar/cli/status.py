"""The command `status`, which shows the health of the agent on this machine or elsewhere."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import click
from rich.console import Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from sidecar.cli.agent_client import AgentAddress, AgentClient, address_options, agents_answer
from sidecar.cli.invocation import Invocation, configuration_options
from sidecar.cli.output import json_output, plain_columns
from sidecar.cli.watch import Forms, print_result, watch
from sidecar.errors import UnavailableError
from sidecar.quantities import duration_text, size_text

EXIT_NOT_HEALTHY = 1
EXIT_NO_ANSWER = 6
_TIMEOUT_S = 10.0
_STYLE = {"ok": "green", "warning": "yellow", "degraded": "yellow", "failing": "bold red"}

Json = Mapping[str, Any]


class NoAnswerError(UnavailableError):
    """No agent answers at the address."""

    exit_code: ClassVar[int] = EXIT_NO_ANSWER


@dataclass(frozen=True, slots=True)
class ConditionReport:
    """One cause of the status."""

    code: str
    status: Literal["warning", "degraded", "failing"]
    component: str
    message: str
    remedy: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class StatusReport:
    """The health of one agent, as `/health` reports it."""

    url: str
    exit_code: int
    """0 when the agent is ok, else 1."""
    status: Literal["ok", "degraded", "failing"]
    message: str
    conditions: tuple[ConditionReport, ...]
    components: Mapping[str, Json]
    """Status, message and values of each component by its name."""
    instance: Mapping[str, str | None]
    """Service, version, host, topic prefix, cluster, node and place of the agent."""
    lag_s: float | None = None
    uptime_s: float | None = None
    destination: str | None = None
    configuration_fingerprint: str | None = None


def status_command() -> click.Command:
    @click.command("status", short_help="Show the status of a running agent.")
    @configuration_options
    @address_options
    @click.option("--watch", "is_watched", is_flag=True, help="Repeat until Ctrl-C.")
    @click.option(
        "--interval",
        "interval_s",
        default=2.0,
        show_default=True,
        type=click.FloatRange(0.1),
        metavar="SECONDS",
        help="With --watch: pause between two requests.",
    )
    @json_output(StatusReport, text="Print one JSON document; with --watch, one line per request.")
    @click.pass_obj
    def status(
        invocation: Invocation[Any], address: AgentAddress, is_watched: bool, interval_s: float
    ) -> None:
        """Show the state of a running agent, the causes with their remedies, and the lag.

        Exit codes: 0 the agent is healthy, 1 it is degraded or failing, 6 no agent answers, 2 the
        arguments or the configuration are invalid.
        """
        client = AgentClient.of(invocation, address, timeout_s=_TIMEOUT_S)
        forms: Forms[StatusReport] = Forms(lines, drawn)
        with agents_answer(kind=NoAnswerError):
            if is_watched:
                watch(partial(fetch_status, client), forms, interval_s, as_json=invocation.is_json)
            report = fetch_status(client)
            print_result(report, forms, as_json=invocation.is_json)
        sys.exit(report.exit_code)

    return status


def fetch_status(client: AgentClient) -> StatusReport:
    """Fetch an agent's status. Raises NoAnswerError if no agent answers."""
    try:
        with agents_answer(f"at {client.url}", "its /health has no status"):
            return parse_status(client.url, client.get("/health"))
    except UnavailableError as error:
        raise NoAnswerError(str(error)) from error


def parse_status(url: str, found: Json) -> StatusReport:
    """Parse the body of `/health`. Raises KeyError, TypeError or AttributeError for any other
    document."""
    components = found["components"]
    lags = (part["lag_s"] for part in components.values() if "lag_s" in part)
    return StatusReport(
        url,
        0 if found["status"] == "ok" else EXIT_NOT_HEALTHY,
        found["status"],
        found["message"],
        tuple(
            ConditionReport(
                each["code"],
                each["status"],
                each["component"],
                each["message"],
                each["remedy"],
                each.get("detail", ""),
            )
            for each in found["conditions"]
        ),
        components,
        found.get("instance", {}),
        next(lags, None),
        found.get("uptime_s"),
        found.get("destination"),
        found.get("configuration_fingerprint"),
    )


def facts(report: StatusReport) -> Iterator[tuple[str, str]]:
    """Yield names and values to display, most important first."""
    yield "status", report.status
    yield "message", report.message
    yield from _identity(report.instance)
    if report.uptime_s is not None:
        yield "up for", duration_text(report.uptime_s)
    if report.destination:
        yield "destination", report.destination
    if report.lag_s is not None:
        yield "lag", duration_text(report.lag_s)
    for name, part in report.components.items():
        if (text := _component(name, part)) is not None:
            yield name, text


def _identity(instance: Mapping[str, str | None]) -> Iterator[tuple[str, str]]:
    program = " ".join(filter(None, (instance.get("service"), instance.get("version"))))
    if program:
        yield "agent", program
    place = " / ".join(filter(None, (instance.get("datacenter"), instance.get("rack"))))
    known = {
        "host": instance.get("host"),
        "cluster": instance.get("cluster"),
        "node": instance.get("node_id"),
        "datacentre / rack": place,
        "topic prefix": instance.get("topic_prefix"),
    }
    yield from ((name, value) for name, value in known.items() if value)


def _component(name: str, part: Json) -> str | None:
    """Describe a component in one line; None for components that are not shown."""
    if name == "cdc_raw":
        limit = part.get("limit_bytes")
        used = size_text(part["bytes"]) + (f" of {size_text(limit)}" if limit else "")
        counts = part.get("segments", {})
        states = [
            f"{count} {state}" for state, count in counts.items() if count and state != "held"
        ]
        full_s = part.get("time_to_full_s")
        forecast = "" if full_s is None else f"; {_time_to_full(full_s)}"
        return f"{used}{forecast}; segments: {', '.join(states) or 'none'}"
    if name == "quarantine":
        size = f"{size_text(part['bytes'])} of {size_text(part['max_bytes'])}"
        kinds = ("segments", "ranges", "dead_letters", "gaps")
        held = [f"{part[kind]} {kind.replace('_', ' ')}" for kind in kinds if part.get(kind)]
        return f"{', '.join(held)}; {size}" if held else "empty"
    if name.startswith(("snapshot", "stream", "transfer")):
        return str(part["message"])
    if name == "sink":
        waiting = part.get("unacknowledged_events", 0)
        return f"{part['message']}; unacknowledged events: {waiting:,}"
    return None


def _time_to_full(seconds: float) -> str:
    return f"full in {duration_text(seconds)} at this growth" if seconds else "full"


def lines(report: StatusReport) -> Iterator[str]:
    """Yield plain columns, then the causes with their remedies."""
    yield from plain_columns(list(facts(report)))
    for each in report.conditions:
        yield ""
        yield f"{each.status}: {each.code} ({each.component}): {each.message}"
        if each.detail:
            yield f"  detail: {each.detail}"
        yield f"  next: {each.remedy}"


def drawn(report: StatusReport) -> Group:
    """Render the report for a terminal."""
    style = _STYLE.get(report.status, "")
    grid = Table.grid(padding=(0, 2))
    for name, value in facts(report):
        shown = f"[{style}]{escape(value)}[/]" if name == "status" and style else escape(value)
        grid.add_row(f"[dim]{escape(name)}[/]", shown)
    parts: list[Table | Text] = [grid]
    for each in report.conditions:
        parts.append(Text(""))
        parts.append(Text(f"{each.status}: {each.message}", style=_STYLE[each.status]))
        if each.detail:
            parts.append(Text(f"  {each.detail}", style="dim"))
        parts.append(Text(f"  → {each.remedy}"))
    return Group(*parts)
