"""The command `fleet`: the status of many agents in one table."""

import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from sidecar.cli.invocation import Invocation, configuration_options
from sidecar.cli.output import json_output
from sidecar.cli.tables import plain_columns
from sidecar.cli.watch import Forms, print_result, watch
from sidecar.config.settings import SidecarProperties
from sidecar.errors import ConfigError
from sidecar.fleet.dns import resolve_targets
from sidecar.fleet.kubernetes import DEFAULT_SELECTOR, PodQuery, list_pods
from sidecar.fleet.poll import DEFAULT_TIMEOUT_S, poll
from sidecar.fleet.report import AgentReport, State
from sidecar.fleet.request import Access
from sidecar.fleet.summary import Fleet, FleetReport, fleet_of
from sidecar.fleet.target import DEFAULT_PORT, Target, read_targets
from sidecar.http.token import read_token
from sidecar.quantities import duration_text
from sidecar.tls.context import client_context

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


@dataclass(frozen=True, slots=True)
class _Request:
    source: Source
    access: Access
    timeout_s: float

    def fleet(self) -> Fleet:
        """Raises SidecarError when the targets are not known."""
        return fleet_of(poll(self.source(), self.timeout_s, self.access))


@click.command("fleet", short_help="Show the status of many agents.")
@click.option(
    "--targets", type=click.Path(path_type=Path), help="File with one host:port or URL a line."
)
@click.option("--kubernetes", is_flag=True, help="List the pods of agents by the Kubernetes API.")
@click.option("--dns", metavar="NAME[:PORT]", help="Ask every A and AAAA record of a name.")
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    default=DEFAULT_PORT,
    show_default=True,
    help="Port of agents whose address has none.",
)
@click.option("--namespace", help="With --kubernetes: the namespace. Default: that of this pod.")
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
    help="With --kubernetes: URL of the API, such as that of `kubectl proxy`.",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    help="File with the bearer token of a proxy before the agents.",
)
@click.option(
    "--ca-file",
    type=click.Path(path_type=Path),
    help="PEM file with the authorities of https agents. Default: those of the system.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0.1, 600),
    default=DEFAULT_TIMEOUT_S,
    show_default=True,
    metavar="SECONDS",
    help="Time for the answer of one agent.",
)
@click.option("--require-same", is_flag=True, help="Different versions or configurations: exit 7.")
@click.option("--watch", "is_watched", is_flag=True, help="Refresh until Ctrl-C.")
@click.option(
    "--interval",
    type=click.FloatRange(0.5, 3600),
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="With --watch: pause between two rounds.",
)
@json_output(FleetReport, text="Print one JSON document; with --watch one line each time.")
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
    """Show the status of many agents, the worst first.

    Exit codes: 0 all agents are ok, 7 an agent is degraded (with --require-same also: versions or
    configurations differ), 8 an agent is failing or does not answer, 2 unusable options, 4 the
    Kubernetes API denies access, 1 any other error.
    """
    query = PodQuery(port, namespace, all_namespaces, selector)
    source = _source(
        targets,
        dns,
        (lambda: list_pods(query, api=kubernetes_api)) if kubernetes else None,
        port,
        invocation.config().properties if invocation.files else None,
    )
    request = _Request(source, _access(token_file, ca_file), timeout)
    forms = Forms(Fleet.report, plain_lines, _table)
    if is_watched:
        watch(request.fleet, forms, interval, as_json=invocation.is_json)
    found = request.fleet()
    print_result(found, forms, as_json=invocation.is_json)
    return found.exit_code(requires_same=require_same)


def _source(
    targets: Path | None,
    dns: str | None,
    pods: Source | None,
    port: int,
    configured: SidecarProperties | None,
) -> Source:
    """The one source that is named, else that of the configuration. Raises ConfigError."""
    sources: list[Source] = []
    if targets is not None:
        sources.append(lambda: read_targets(targets, port))
    if dns is not None:
        sources.append(lambda: _resolved(dns, port))
    if pods is not None:
        sources.append(pods)
    if not sources and configured is not None:
        file, name = configured.fleet_targets_file, configured.fleet_dns
        if file is not None or name is not None:
            sources.append(lambda: configured_targets(file, name))
    if len(sources) != 1:
        raise ConfigError(
            "Name the agents by one of --targets FILE, --kubernetes and --dns NAME, or by "
            "fleet.targets.file or fleet.dns in --config FILE."
        )
    return sources[0]


def _resolved(name: str, port: int) -> Sequence[Target]:
    try:
        return resolve_targets(name, port)
    except ValueError as error:
        raise ConfigError(f"--dns: {error}.") from error


def configured_targets(file: Path | None, dns: str | None) -> list[Target]:
    """The agents of `fleet.targets.file` and `fleet.dns`, each once. Raises SidecarError."""
    targets = [] if file is None else read_targets(file)
    targets += [] if dns is None else resolve_targets(dns, DEFAULT_PORT)
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
        reason = "it has no PEM certificate" if isinstance(error, ssl.SSLError) else error.strerror
        raise ConfigError(f"--ca-file: {ca_file} cannot be used: {reason}.") from error


def _table(found: Fleet) -> Table:
    table = Table(*(heading.lower() for heading in _HEADINGS), caption=escape(found.text))
    table.columns[0].overflow = table.columns[-1].overflow = "fold"
    for agent in found.agents:
        cells = [escape(cell) for cell in cells_of(agent)]
        cells[1] = f"[{_STYLE[agent.state]}]{cells[1]}[/]"
        table.add_row(*cells)
    return table


def plain_lines(found: Fleet) -> list[str]:
    """Aligned columns without boxes, for pipes; the summary is the last line."""
    return [*plain_columns([_HEADINGS, *map(cells_of, found.agents)]), found.text]


def cells_of(agent: AgentReport) -> tuple[str, ...]:
    """The cells of one agent, `-` for a value that is not known."""
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
