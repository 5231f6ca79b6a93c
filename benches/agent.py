"""The agent over a backlog of finished segments into a real broker, all on the machine's cores.

Interleaved with it in the same run: the produce ceiling (`baseline.py`), and Debezium's connector
on some of the same segments, with the same broker.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benches.backlog import run_agent, run_ceiling, run_debezium
from benches.machine import Machine, machine
from benches.paths import scratch_directory
from benches.progress import progress_bar
from benches.sampling import Observation
from benches.segments import SegmentSet, WrittenSegments, written
from benches.stats import Spread, print_table, write_result
from commitlog import Schema, SegmentReader
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.kafka import KafkaBroker

FULL = SegmentSet("plain, 140 bytes", 32, 10, 61)
QUICK = SegmentSet("plain, 140 bytes", 4, 2, 61)
AGENT, WITHOUT_CELLS = "agent", "agent, event.cells=false"
CEILING, DEBEZIUM = "produce ceiling", "Debezium 3.4.1"
_FIRST_EVENTS = 100_000
# Where compiled code begins to show in a JVM that started with the backlog.
_LATE_EVENTS = 61_000


@dataclass(frozen=True)
class Candidate:
    """All runs of one candidate. CPU in µs per event, memory in MiB."""

    name: str
    runs: int
    events: int
    start_up_s: Spread
    start_up_cpu_s: Spread
    events_per_s: Spread
    cpu_us: Spread
    first_cpu_us: Spread
    late_cpu_us: Spread
    warm_cpu_us: Spread
    broker_cpu_us: Spread
    max_rss_mib: Spread


def run(is_quick: bool) -> None:
    rounds = 1 if is_quick else 4
    at_start = machine()
    with progress_bar("writing segments"):
        segments = written(QUICK if is_quick else FULL)
    for_debezium = segments.segments[: 1 if is_quick else 3]
    seen: dict[str, list[Observation]] = {}
    settings = NodeSettings(commitlog_sync_period_ms=500, cdc_total_mib=2048, compile_fully=True)
    with (
        scratch_directory("agent") as scratch,
        KafkaBroker(scratch / "kafka", heap_mib=1024) as broker,
        CassandraNode(scratch / "node", settings=settings) as node,
    ):
        create_table(node, segments)
        events = count_mutations(segments, for_debezium)
        with progress_bar("publishing", 4 * rounds) as step:
            for number in range(rounds):
                here = scratch / f"round-{number}"
                seen.setdefault(CEILING, []).append(
                    run_ceiling(broker, segments, f"ceiling-{number}")
                )
                step()
                seen.setdefault(AGENT, []).append(
                    run_agent(broker, segments, here / "agent", f"agent-{number}")
                )
                step()
                seen.setdefault(WITHOUT_CELLS, []).append(
                    run_agent(
                        broker,
                        segments,
                        here / "agent-without-cells",
                        f"agent-without-cells-{number}",
                        {"event.cells": "false"},
                    )
                )
                step()
                seen.setdefault(DEBEZIUM, []).append(
                    run_debezium(
                        broker,
                        node,
                        for_debezium,
                        events,
                        here / "debezium",
                        f"debezium-{number}",
                    )
                )
                step()
    _report(at_start, seen, is_quick)


def create_table(node: CassandraNode, segments: WrittenSegments) -> None:
    """The DDL of the table in the segments, with its id."""
    for statement in segments.schema.read_text().split(";"):
        if statement.strip():
            node.execute(statement)


def count_mutations(segments: WrittenSegments, some: Sequence[Path]) -> int:
    schema = Schema.from_cql(segments.schema.read_text())
    return sum(SegmentReader(str(each)).scan(schema).mutations for each in some)


def candidate(name: str, runs: Sequence[Observation]) -> Candidate:
    events = runs[0].samples[-1].events
    first = min(_FIRST_EVENTS, events // 2)
    late = first * _LATE_EVENTS // _FIRST_EVENTS

    def spread(value: Callable[[Observation], float]) -> Spread:
        return Spread.of([value(each) for each in runs])

    return Candidate(
        name=name,
        runs=len(runs),
        events=events,
        start_up_s=spread(lambda each: each.start_up.seconds),
        start_up_cpu_s=spread(lambda each: each.start_up.cpu_s),
        events_per_s=spread(lambda each: each.steady.events_per_s),
        cpu_us=spread(lambda each: each.steady.cpu_us_per_event),
        first_cpu_us=spread(lambda each: each.part(1, first).cpu_us_per_event),
        late_cpu_us=spread(lambda each: each.part(late, first).cpu_us_per_event),
        warm_cpu_us=spread(lambda each: each.part(events * 2 // 3, events).cpu_us_per_event),
        broker_cpu_us=spread(lambda each: each.steady.broker_cpu_us_per_event),
        max_rss_mib=spread(lambda each: each.max_rss_mib),
    )


def shares_of_ceiling(seen: Mapping[str, Sequence[Observation]], name: str) -> Spread:
    """Events per second as a share of the produce ceiling in the same round."""
    pairs = zip(seen[name], seen[CEILING], strict=True)
    return Spread.of([own.steady.events_per_s / bare.steady.events_per_s for own, bare in pairs])


def cpu_shares_of_ceiling(seen: Mapping[str, Sequence[Observation]], name: str) -> Spread:
    """The ceiling's CPU time an event, with the broker's, as a share of ours in the same round.

    It is the share that both would reach if processors were all that they wait for, and other
    programs on the machine change it little.
    """

    def cost_us(each: Observation) -> float:
        return each.steady.cpu_us_per_event + each.steady.broker_cpu_us_per_event

    pairs = zip(seen[name], seen[CEILING], strict=True)
    return Spread.of([cost_us(bare) / cost_us(own) for own, bare in pairs])


def _report(at_start: Machine, seen: dict[str, list[Observation]], is_quick: bool) -> None:
    results = [candidate(name, runs) for name, runs in seen.items()]
    shares = {name: shares_of_ceiling(seen, name) for name in (AGENT, WITHOUT_CELLS)}
    cpu_shares = {name: cpu_shares_of_ceiling(seen, name) for name in (AGENT, WITHOUT_CELLS)}
    by_name = {result.name: result for result in results}
    own_us, peer = by_name[AGENT].cpu_us.median, by_name[DEBEZIUM]
    of_debezium = {
        "first 100,000": own_us / peer.first_cpu_us.median,
        "61,000 to 100,000": own_us / peer.late_cpu_us.median,
        "last third": own_us / peer.warm_cpu_us.median,
    }
    file = write_result(
        "agent",
        at_start,
        is_quick,
        {
            "candidates": results,
            "shares_of_ceiling": shares,
            "cpu_shares_of_ceiling": cpu_shares,
            "cpu_shares_of_debezium": of_debezium,
        },
    )
    print(at_start.sentence())
    rates = [
        (
            each.name,
            f"{each.events:,}",
            each.events_per_s.text(1, 1e3),
            each.start_up_s.text(1),
            each.start_up_cpu_s.text(1),
            each.max_rss_mib.text(),
        )
        for each in results
    ]
    columns = ("", "events", "thousand/s", "start-up s", "start-up CPU s", "max MiB")
    print_table(f"Backlog, {results[0].runs} rounds by turns", columns, rates)
    costs = [
        (
            each.name,
            each.cpu_us.text(1),
            each.first_cpu_us.text(1),
            each.late_cpu_us.text(1),
            each.warm_cpu_us.text(1),
            each.broker_cpu_us.text(1),
        )
        for each in results
    ]
    parts = ("", "all", "first 100,000", "61,000–100,000", "last third", "the broker's")
    print_table("CPU of an event in µs, start-up left out", parts, costs)
    for name, share in shares.items():
        by_cpu = cpu_shares[name].text(0, 0.01)
        print(f"{name}: {share.text(0, 0.01)} % of the ceiling's rate, {by_cpu} % by CPU time")
    for part, share_of_debezium in of_debezium.items():
        print(f"CPU an event: {share_of_debezium:.2f} of Debezium's ({part})")
    print(file)
