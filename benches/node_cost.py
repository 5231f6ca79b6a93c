"""Measures what capture costs a node: the same steady writes with CDC off, on, and with the agent.

A real node, a real broker and the load share the machine. The modes alternate in rounds on one
table, whose `cdc` property changes.
"""

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benches.backlog import TABLE, running_agent
from benches.harness import Result, Spread, print_table, run_rounds, scratch_directory
from benches.latency import SCHEMA, write_rows
from benches.sampling import cpu_seconds
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.kafka import KafkaBroker

ROWS_PER_S = 2000
MODES = ("off", "on", "on, with the agent")
_WARM_UP_S = 10


@dataclass(frozen=True)
class Cost:
    """One run of one mode. CPU and disk writes are per row."""

    p50_ms: float
    p99_ms: float
    node_cpu_us: float
    agent_cpu_us: float
    node_written_bytes: float


def run(is_quick: bool) -> Result:
    seconds, rounds = (5, 1) if is_quick else (60, 3)
    settings = NodeSettings(
        commitlog_sync_period_ms=1000, heap_mib=1024, compile_fully=True, cdc_total_mib=4096
    )
    with (
        scratch_directory("node-cost") as scratch,
        KafkaBroker(scratch / "kafka") as broker,
        CassandraNode(scratch / "node", settings=settings) as node,
    ):
        for statement in SCHEMA:
            node.execute(statement)
        write_rows(node, ROWS_PER_S, _WARM_UP_S)

        def measure(mode: str, number: int) -> Cost:
            is_on = str(mode != "off").lower()
            node.execute(f"ALTER TABLE {TABLE} WITH cdc = {is_on}")
            properties = {
                "topic.prefix": f"cost-{number}",
                "kafka.producer.bootstrap.servers": broker.bootstrap,
                "cassandra.config": str(node.yaml),
                "topic.creation.enable": "true",
                "topic.creation.default.partitions": "3",
            }
            has_agent = mode == MODES[2]
            directory = scratch / f"agent-{number}"
            with running_agent(directory, properties) if has_agent else nullcontext() as agent:
                if agent is not None:
                    write_rows(node, ROWS_PER_S, _WARM_UP_S)
                return _measure(node, agent, seconds)

        seen = run_rounds("writing", MODES, measure, rounds=rounds)
    results: list[dict[str, Any]] = [
        {"mode": mode}
        | {
            name: Spread.of(getattr(each, name) for each in costs)
            for name in Cost.__dataclass_fields__
        }
        for mode, costs in seen.items()
    ]
    print_table(
        f"{ROWS_PER_S:,} writes per second for {seconds} s, {rounds} rounds",
        results,
        {
            "cdc": lambda each: each["mode"],
            "p50 ms": lambda each: each["p50_ms"].text(1),
            "p99 ms": lambda each: each["p99_ms"].text(1),
            "node's CPU, µs a write": lambda each: each["node_cpu_us"].text(),
            "agent's": lambda each: each["agent_cpu_us"].text(),
            "node's disk, bytes a write": lambda each: each["node_written_bytes"].text(),
        },
    )
    return {"rows_per_s": ROWS_PER_S, "seconds": seconds, "results": results}


def _measure(node: CassandraNode, agent: int | None, seconds: int) -> Cost:
    node_pid = node.pid
    assert node_pid is not None
    pids = [node_pid] if agent is None else [node_pid, agent]
    before_s = [cpu_seconds(pid) for pid in pids]
    written = _written_bytes(node_pid)
    load = write_rows(node, ROWS_PER_S, seconds)
    rows = ROWS_PER_S * seconds
    used_us = [
        (cpu_seconds(pid) - start) / rows * 1e6 for pid, start in zip(pids, before_s, strict=True)
    ]
    return Cost(
        p50_ms=load.p50_ms,
        p99_ms=load.p99_ms,
        node_cpu_us=used_us[0],
        agent_cpu_us=sum(used_us[1:]),
        node_written_bytes=(_written_bytes(node_pid) - written) / rows,
    )


def _written_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/io").read_text().splitlines():
        if line.startswith("write_bytes:"):
            return int(line.split()[1])
    raise ProcessLookupError(f"process {pid} is ending")
