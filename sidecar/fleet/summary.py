"""Summarizes a fleet: sorts the agents, and finds totals and differences. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sidecar.fleet.report import STATES, AgentReport

EXIT_DEGRADED = 7
"""Exit code if an agent is degraded, or if agents differ despite `--require-same`."""
EXIT_FAILING = 8
"""Exit code if an agent is failing or does not answer."""
_UNKNOWN = "unknown"
_SAME_START_S = 10.0


@dataclass(frozen=True, slots=True)
class Difference:
    """A value that differs between agents although it should be equal."""

    what: str
    """The compared value, such as `Versions of cdc-sidecar-cassandra`."""
    counts: Mapping[str, int]
    """Number of agents by value."""

    @property
    def text(self) -> str:
        listed = ", ".join(f"{value} ({count})" for value, count in self.counts.items())
        return f"{self.what} differ: {listed}"


@dataclass(frozen=True, slots=True)
class FleetSummary:
    """Totals of a fleet."""

    text: str
    """One line."""
    agents: int
    unreachable: int
    failing: int
    degraded: int
    ok: int
    differences: tuple[Difference, ...]
    """Different versions of a service, and different configurations of a topic prefix."""

    def exit_code(self, *, requires_same: bool = False) -> int:
        """Return 0 if all agents are ok and, with `requires_same`, do not differ."""
        if self.unreachable or self.failing:
            return EXIT_FAILING
        if self.degraded or (requires_same and self.differences):
            return EXIT_DEGRADED
        return 0


@dataclass(frozen=True, slots=True)
class FleetReport:
    """The JSON document of a fleet."""

    summary: FleetSummary
    agents: tuple[AgentReport, ...]
    """Worst first."""


def fleet_of(agents: Iterable[AgentReport]) -> FleetReport:
    """Sort the agents by state, quarantine, time until `cdc_raw` is full, lag and place. An agent
    with several addresses is listed once."""
    found = tuple(sorted(_distinct(agents), key=_badness))
    total, differences = len(found), tuple(_differences(found))
    counted = Counter(agent.state for agent in found)
    counts = {state: counted[state] for state in STATES}
    states = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    text = f"{total} {'agent' if total == 1 else 'agents'}: {states or 'none'}."
    text += "".join(f" {each.text}." for each in differences)
    return FleetReport(FleetSummary(text, total, **counts, differences=differences), found)


def _badness(agent: AgentReport) -> tuple[int, float, float, float, str]:
    soon_s = agent.cdc_raw_time_to_full_s
    return (
        STATES.index(agent.state),
        -(agent.quarantined or 0),
        float("inf") if soon_s is None else soon_s,
        -(agent.lag_s or 0),
        agent.place,
    )


def _distinct(agents: Iterable[AgentReport]) -> Iterator[AgentReport]:
    """Drop duplicates: a process that was reached twice, such as by an A and an AAAA record."""
    seen: dict[tuple[str | None, ...], float] = {}
    for agent in agents:
        process, uptime_s = _process(agent), agent.uptime_s
        if agent.node_id is None or uptime_s is None:
            yield agent
        elif process not in seen:
            seen[process] = uptime_s
            yield agent
        elif abs(seen[process] - uptime_s) >= _SAME_START_S:
            yield agent


def _process(agent: AgentReport) -> tuple[str | None, ...]:
    port = agent.url.rpartition(":")[2]
    return (agent.service, agent.cluster, agent.node_id, agent.host, agent.topic_prefix, port)


def _differences(agents: Sequence[AgentReport]) -> Iterator[Difference]:
    versions: defaultdict[str, Counter[str]] = defaultdict(Counter)
    configurations: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for agent in agents:
        if agent.state == "unreachable":
            continue
        service = agent.service or _UNKNOWN
        versions[service][agent.version or _UNKNOWN] += 1
        if agent.configuration_fingerprint is not None:
            group = (service, agent.topic_prefix or _UNKNOWN)
            configurations[group][agent.configuration_fingerprint] += 1
    for service, counts in sorted(versions.items()):
        if len(counts) > 1:
            yield Difference(f"Versions of {service}", dict(counts.most_common()))
    for (_, prefix), counts in sorted(configurations.items()):
        if len(counts) > 1:
            yield Difference(
                f"Configurations for the topic prefix {prefix}", dict(counts.most_common())
            )
