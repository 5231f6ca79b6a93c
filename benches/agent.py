"""Publishes a backlog of finished segments with the agent; a real broker shares the machine.

The produce baseline (`baseline.py`) and Debezium's connector alternate with it on the same broker.
Debezium reads only some of the segments.
"""

from benches.backlog import agent_over, run_baseline, run_debezium
from benches.candidates import candidates, print_candidates, rate, ratio, whole_cpu_us
from benches.harness import Result, run_rounds, scratch_directory
from benches.sampling import Observation, observe
from benches.segments import SegmentSet, WrittenSegments, written
from commitlog import Schema, SegmentReader
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.kafka import KafkaBroker

FULL = SegmentSet("plain, 140 bytes", 32, 10, 61)
QUICK = SegmentSet("plain, 140 bytes", 4, 2, 61)
AGENT, WITHOUT_CELLS = "agent", "agent, event.cells=false"
BASELINE, DEBEZIUM = "produce baseline", "Debezium 3.4.1"
_PREFIXES = {BASELINE: "baseline", AGENT: "agent", WITHOUT_CELLS: "plain", DEBEZIUM: "debezium"}


def run(is_quick: bool) -> Result:
    rounds = 1 if is_quick else 4
    segments = written(QUICK if is_quick else FULL)
    for_debezium = segments.segments[: 1 if is_quick else 3]
    schema = Schema.from_cql(segments.schema.read_text())
    events = sum(SegmentReader(str(each)).scan(schema).mutations for each in for_debezium)
    settings = NodeSettings(commitlog_sync_period_ms=500, cdc_total_mib=2048, compile_fully=True)
    with (
        scratch_directory("agent") as scratch,
        KafkaBroker(scratch / "kafka", heap_mib=1024) as broker,
        CassandraNode(scratch / "node", settings=settings) as node,
    ):
        create_table(node, segments)

        def publish(name: str, number: int) -> Observation:
            prefix = f"{_PREFIXES[name]}-{number}"
            if name == BASELINE:
                return run_baseline(broker, segments, prefix)
            if name == DEBEZIUM:
                return run_debezium(broker, node, for_debezium, events, scratch / prefix, prefix)
            properties = {"event.cells": str(name == AGENT).lower()}
            with agent_over(broker, segments, scratch / prefix, prefix, properties) as agent:
                return observe(*agent, broker, segments.mutations)

        seen = run_rounds("publishing", tuple(_PREFIXES), publish, rounds=rounds)
    found = {each["name"]: each for each in candidates(seen)}
    own, peer = found[AGENT], found[DEBEZIUM]
    rates = {name: ratio(seen, name, BASELINE, rate) for name in (AGENT, WITHOUT_CELLS)}
    cpu = {name: ratio(seen, BASELINE, name, whole_cpu_us) for name in (AGENT, WITHOUT_CELLS)}
    of_debezium = {
        part: own["cpu_us"].median / peer[key].median
        for part, key in (
            ("first 100,000", "first_cpu_us"),
            ("61,000 to 100,000", "late_cpu_us"),
            ("last third", "warm_cpu_us"),
        )
    }
    print_candidates(f"Backlog, {rounds} interleaved rounds", seen)
    for name, share in rates.items():
        by_cpu = cpu[name].text(0, 0.01)
        print(f"{name}: {share.text(0, 0.01)} % of the baseline's rate, {by_cpu} % by CPU time")
    for part, share_of_debezium in of_debezium.items():
        print(f"CPU an event: {share_of_debezium:.2f} of Debezium's ({part})")
    return {
        "candidates": candidates(seen),
        "shares_of_baseline": rates,
        "cpu_shares_of_baseline": cpu,
        "cpu_shares_of_debezium": of_debezium,
    }


def create_table(node: CassandraNode, segments: WrittenSegments) -> None:
    """Execute the DDL of the segments' table, including the table id."""
    for statement in segments.schema.read_text().split(";"):
        if statement.strip():
            node.execute(statement)
