"""The command `fleet`: the status of many agents in one table."""

import ssl
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from sidecar.cli.invocation import Invocation, configuration_options
from sidecar.cli.output import json_output, plain_columns
from sidecar.cli.watch import Forms, print_result, watch
from sidecar.errors import ConfigError
from sidecar.fleet.kubernetes import DEFAULT_SELECTOR, PodQuery, list_pods
from sidecar.fleet.poll import poll
from sidecar.fleet.report import AgentReport, State
from sidecar.fleet.request import Access
from sidecar.fleet.summary import FleetReport, fleet_of
from sidecar.fleet.target import DEFAULT_PORT, Target, read_targets, resolve_targets
from sidecar.http.token import read_token
from sidecar.quantities import duration_text
from sidecar.tls.store_file import client_context

_STYLE: dict[State, str] = {
    "unreachable": "bold red",
    "failing": "red",
    "degraded": "yellow",
    "ok": "green",
}
_HEADINGS = (
    "NODE",
    "STATE",
    "LAG",
    "CDC_RAW",
    "FULL IN",
    "QUARANTINE",
    "SNAPSHOT",
    "VERSION",
    "CONFIG",
    "CAUSE",
)
_NONE = "-"

Source = Callable[[], Sequence[Target]]


@click.command("fleet", short_help="Show the status of many agents.")
@click.option(
    "--targets", type=click.Path(path_type=Path), help="File with one host:port or URL per line."
)
@click.option("--kubernetes", is_flag=True, help="Find agent pods with the Kubernetes API.")
@click.option("--dns", metavar="NAME[:PORT]", help="Query every address of a DNS name.")
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    default=DEFAULT_PORT,
    show_default=True,
    help="Port of agents whose address includes no port.",
)
@click.option("--namespace", help="With --kubernetes: the namespace. Default: this pod's.")
@click.option("--all-namespaces", is_flag=True, help="With --kubernetes: all namespaces.")
@click.option(
    "--selector",
    default=DEFAULT_SELECTOR,
    show_default=True,
    help="With --kubernetes: label selector of the pods.",
)
@click.option(
    "--kubernetes-api",
    metavar="URL",
    help="With --kubernetes: URL of the API, such as the address of `kubectl proxy`.",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    help="File with the bearer token for the agents' proxy.",
)
@click.option(
    "--ca-file",
    type=click.Path(path_type=Path),
    help="PEM file with CA certificates for https agents. Default: the system's CAs.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0.1, 600),
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="Timeout for the answer of one agent.",
)
@click.option("--require-same", is_flag=True, help="Return 7 if versions or configurations differ.")
@click.option("--watch", "is_watched", is_flag=True, help="Refresh until Ctrl-C.")
@click.option(
    "--interval",
    type=click.FloatRange(0.5, 3600),
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="With --watch: pause between two rounds.",
)
@json_output(FleetReport, text="Print one JSON document; with --watch, one line per round.")
@configuration_options
@click.pass_obj
def fleet(
    invocation: Invocation[Any],
    targets: Path | None,
    kubernetes: bool,
    dns: str | None,
    port: int,
    namespace: str | None,
    all_namespaces: bool,
    selector: str,
    kubernetes_api: str | None,
    token_file: Path | None,
    ca_file: Path | None,
    timeout: float,
    require_same: bool,
    is_watched: bool,
    interval: float,
) -> int:
    """Show the status of many agents, worst first.

    Exit codes: 0 all agents are ok, 7 an agent is degraded (with --require-same also: versions or
    configurations differ), 8 an agent is failing or does not answer, 2 unusable options, 4 the
    Kubernetes API denies access, 1 any other error.
    """
    query = PodQuery(port, namespace, all_namespaces, selector)
    pods = partial(list_pods, query, api=kubernetes_api) if kubernetes else None
    source = _source(targets, dns, pods, port, invocation)
    access = _access(token_file, ca_file)

    def fetch() -> FleetReport:
        return fleet_of(poll(source(), timeout, access))

    forms: Forms[FleetReport] = Forms(plain_lines, _table)
    if is_watched:
        watch(fetch, forms, interval, as_json=invocation.is_json)
    found = fetch()
    print_result(found, forms, as_json=invocation.is_json)
    return found.summary.exit_code(requires_same=require_same)


def _source(
    file: Path | None, dns: str | None, pods: Source | None, port: int, invocation: Invocation[Any]
) -> Source:
    """Return the source that an option selects, else the configured one. Raises ConfigError."""
    count = sum(each is not None for each in (file, dns, pods))
    if not count and invocation.files:
        properties = invocation.config().properties
        file, dns = properties.fleet_targets_file, properties.fleet_dns
    if count > 1 or (file is None and dns is None and pods is None):
        raise ConfigError(
            "Select the agents with one of --targets FILE, --kubernetes and --dns NAME, or with "
            "fleet.targets.file or fleet.dns in --config FILE."
        )
    return pods or partial(named_targets, file, dns, port)


def named_targets(file: Path | None, dns: str | None, port: int) -> list[Target]:
    """Return the distinct agents from a file and a DNS name. Raises SidecarError."""
    targets = [] if file is None else read_targets(file, port)
    try:
        targets += [] if dns is None else resolve_targets(dns, port)
    except ValueError as error:
        raise ConfigError(f"--dns: {error}.") from error
    return list({target.url: target for target in targets}.values())


def _access(token_file: Path | None, ca_file: Path | None) -> Access:
    headers = {}
    if token_file is not None:
        try:
            headers["Authorization"] = f"Bearer {read_token(token_file)}"
        except ConfigError as error:
            raise ConfigError(str(error).replace("http.token.file", "--token-file")) from error
    if ca_file is None:
        return Access(headers)
    try:
        return Access(headers, client_context(cafile=str(ca_file)))
    except (OSError, ssl.SSLError) as error:
        reason = "no PEM certificate found" if isinstance(error, ssl.SSLError) else error.strerror
        raise ConfigError(f"--ca-file: {ca_file} cannot be used: {reason}.") from error


def _table(found: FleetReport) -> Table:
    table = Table(*(heading.lower() for heading in _HEADINGS), caption=escape(found.summary.text))
    table.columns[0].overflow = table.columns[-1].overflow = "fold"
    for agent in found.agents:
        cells = [escape(cell) for cell in cells_of(agent)]
        cells[1] = f"[{_STYLE[agent.state]}]{cells[1]}[/]"
        table.add_row(*cells)
    return table


def plain_lines(found: FleetReport) -> list[str]:
    """Format aligned columns without boxes, for pipes; the summary is the last line."""
    return [*plain_columns([_HEADINGS, *map(cells_of, found.agents)]), found.summary.text]


def cells_of(agent: AgentReport) -> tuple[str, ...]:
    """Format the table cells of one agent, with `-` for unknown values."""
    causes = ", ".join(agent.conditions) or ("" if agent.state == "ok" else agent.message)
    return (
        agent.place,
        agent.state,
        _duration(agent.lag_s),
        _share(agent.cdc_raw_bytes, agent.cdc_raw_limit_bytes),
        _duration(agent.cdc_raw_time_to_full_s),
        _NONE if agent.quarantined is None else f"{agent.quarantined:.0f}",
        agent.snapshot or _NONE,
        agent.version or _NONE,
        agent.configuration_fingerprint or _NONE,
        causes or _NONE,
    )


def _duration(seconds: float | None) -> str:
    return _NONE if seconds is None else duration_text(seconds)


def _share(part: float | None, whole: float | None) -> str:
    return _NONE if part is None or not whole else f"{100 * part / whole:.0f} %"
