"""Figures of candidates that publish the same events, as JSON and as a table."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benches.harness import Spread, print_texts
from benches.sampling import Observation

Seen = Mapping[str, Sequence[Observation]]
"""Each candidate's runs in round order."""

_FIRST_EVENTS = 100_000
# In a JVM that started with the backlog, compiled code starts to pay off here.
_LATE_EVENTS = 61_000

_FIGURES: Mapping[str, tuple[str, Callable[[Observation], float]]] = {
    "events_per_s": ("events/s", lambda each: each.steady.events_per_s),
    "cpu_us": ("CPU µs an event", lambda each: each.steady.cpu_us_per_event),
    "first_cpu_us": ("of the first 100,000", lambda each: _first(each, 0)),
    "late_cpu_us": ("of 61,000–100,000", lambda each: _first(each, _LATE_EVENTS)),
    "warm_cpu_us": ("of the last third", lambda each: each.last_third.cpu_us_per_event),
    "broker_cpu_us": ("of the broker", lambda each: each.steady.broker_cpu_us_per_event),
    "start_up_s": ("start-up s", lambda each: each.start_up.seconds),
    "start_up_cpu_s": ("start-up CPU s", lambda each: each.start_up.cpu_s),
    "max_rss_mib": ("peak MiB", lambda each: each.max_rss_mib),
}


def candidates(seen: Seen) -> list[dict[str, Any]]:
    """All figures of each candidate: CPU in µs per event without start-up, memory in MiB."""
    return [
        {"name": name, "runs": len(runs), "events": runs[0].events}
        | {key: Spread.of(map(value, runs)) for key, (_, value) in _FIGURES.items()}
        for name, runs in seen.items()
    ]


def print_candidates(title: str, seen: Seen) -> None:
    """Print a column for each candidate."""
    found = candidates(seen)
    rows = [[label, *(each[key].text(1) for each in found)] for key, (label, _) in _FIGURES.items()]
    print_texts(title, ["", *seen], [["events", *(f"{each['events']:,}" for each in found)], *rows])


def ratio(seen: Seen, one: str, other: str, value: Callable[[Observation], float]) -> Spread:
    """The value of `one` as a multiple of the value of `other`, round by round."""
    return Spread.of_ratios(map(value, seen[one]), map(value, seen[other]))


def rate(each: Observation) -> float:
    """Events per second without start-up."""
    return each.steady.events_per_s


def whole_cpu_us(each: Observation) -> float:
    """CPU time per event, including the broker's.

    The baseline's value divided by a candidate's is the share of the baseline's rate that the
    candidate would reach if both waited only for processors.
    """
    return each.steady.cpu_us_per_event + each.steady.broker_cpu_us_per_event


def _first(each: Observation, begin: int) -> float:
    """CPU µs per event from `begin` to the 100,000th event, or scaled to half of a small run."""
    stop = min(_FIRST_EVENTS, each.events // 2)
    return each.part(max(1, begin * stop // _FIRST_EVENTS), stop).cpu_us_per_event
