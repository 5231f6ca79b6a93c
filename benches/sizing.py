"""Sizes the Spark jobs: `python -m benches.sizing` computes the tables of
docs/evidence/spark-sizing.md from the latest full results of `dedupe`, `state` and `reconcile`.
"""

import math
import sys
from dataclasses import dataclass
from typing import Any

from benches.harness import print_table, read_result
from spark_jobs.reconcile.compaction import MAJOR_SHARE

RATES = (10_000, 100_000, 1_000_000)
REPLICAS = 3
TTL_S = 6 * 3600
TRIGGER_S = 300
USED_SHARE = 0.6
CATCH_UP = 2
RECORDS_OF_KAFKA_PARTITION = 10_000
TABLE_CELLS = (100_000_000, 1_000_000_000, 10_000_000_000)
LOOSE_FILES = 8
"""`compact.after.files`: a bucket with more files is compacted."""
CELLS_PER_EVENT = 4
STATE_PARTITION_BYTES = 1e9


@dataclass(frozen=True)
class Laws:
    """Measured costs. Rates are in records (replica copies) per CPU second."""

    dedupe_rate: float
    reconcile_rate: float
    compaction_us: float
    """CPU microseconds to rewrite one cell of a table."""
    scan_us: float
    disk_bytes: float
    checkpoint_bytes: float


@dataclass(frozen=True)
class Sizing:
    """Resources for `events` per second. `cores_*` are rounded up and suffice for catching up."""

    events: int
    records: int
    kafka_partitions: int
    keys: int
    disk_gb: float
    checkpoint_mb_per_s: float
    scan_core_s: float
    state_partitions: int
    cores_dedupe: int
    cores_reconcile: int


def sizing(events: int, laws: Laws) -> Sizing:
    """Size the jobs for a rate of distinct events per second, each from every replica."""
    records = events * REPLICAS
    keys = events * TTL_S
    disk_bytes = keys * laws.disk_bytes
    scan_core_s = keys * laws.scan_us / 1e6
    reading = records / laws.dedupe_rate * CATCH_UP
    cores_dedupe = math.ceil((reading + scan_core_s / TRIGGER_S) / USED_SHARE)
    cores_reconcile = math.ceil(records / laws.reconcile_rate * CATCH_UP / USED_SHARE)
    return Sizing(
        events,
        records,
        math.ceil(records / RECORDS_OF_KAFKA_PARTITION),
        keys,
        disk_bytes / 1e9,
        events * laws.checkpoint_bytes / 1e6,
        scan_core_s,
        max(math.ceil(disk_bytes / STATE_PARTITION_BYTES), cores_dedupe),
        cores_dedupe,
        cores_reconcile,
    )


def compaction_core_s(cells: int, laws: Laws) -> float:
    """The core seconds of a major compaction of all buckets."""
    return cells * laws.compaction_us / 1e6


def compacted_cells(cells: int, new: int) -> float:
    """The average number of cells that a compaction of all buckets rewrites, after `new` new cells.

    It is major once the cells added since the previous major compaction reach `MAJOR_SHARE` of the
    table. Until then, it rewrites only these added cells, on average half of that share.
    """
    share = MAJOR_SHARE * cells
    if new >= share:
        return cells + new
    return new + share / 2 + cells * new / share


def compaction_cores(cells: int, laws: Laws, events: int = RATES[0]) -> int:
    """Cores for compaction if every micro-batch adds a file to every bucket."""
    every_s = (LOOSE_FILES + 1) * TRIGGER_S
    rewritten = compacted_cells(cells, events * CELLS_PER_EVENT * every_s)
    return math.ceil(rewritten * laws.compaction_us / 1e6 / every_s / USED_SHARE)


def main() -> None:
    laws = _laws()
    print(laws)
    print_table(
        f"compaction, {RATES[0]:,} events/s, a trigger of {TRIGGER_S} s",
        TABLE_CELLS,
        {
            "cells in the table": lambda cells: f"{cells:.0e}",
            "all buckets once, core-s": lambda cells: f"{compaction_core_s(cells, laws):,.0f}",
            "cores": lambda cells: f"{compaction_cores(cells, laws):,}",
        },
    )
    print_table(
        f"RF {REPLICAS}, ttl.ms = {TTL_S // 3600} h, a trigger of {TRIGGER_S} s",
        [sizing(events, laws) for events in RATES],
        {
            "events/s": lambda each: f"{each.events:,}",
            "records/s": lambda each: f"{each.records:,}",
            "Kafka partitions": lambda each: f"{each.kafka_partitions:,}",
            "keys in state": lambda each: f"{each.keys:.1e}",
            "RocksDB, GB": lambda each: f"{each.disk_gb:,.0f}",
            "checkpoint, MB/s": lambda each: f"{each.checkpoint_mb_per_s:,.1f}",
            "scan, core-s": lambda each: f"{each.scan_core_s:,.0f}",
            "state partitions": lambda each: f"{each.state_partitions:,}",
            "cores, dedupe": lambda each: f"{each.cores_dedupe:,}",
            "cores, reconcile": lambda each: f"{each.cores_reconcile:,}",
        },
    )


def _laws() -> Laws:
    dedupe, state, reconcile = (_result(name) for name in ("dedupe", "state", "reconcile"))
    (ours,) = [way for way in dedupe["ways"] if way["name"] == "ours"]
    last = state["steps"][-1]
    return Laws(
        dedupe_rate=ours["cpu_rate"]["median"],
        reconcile_rate=min(size["rate"]["median"] for size in reconcile["sizes"]),
        compaction_us=reconcile["sizes"][-1]["compaction_cpu_s_per_million"],
        scan_us=state["laws"]["scan_us"],
        disk_bytes=last["disk_bytes"],
        checkpoint_bytes=last["checkpoint_bytes"],
    )


def _result(name: str) -> dict[str, Any]:
    result = read_result(name)
    if result is None:
        sys.exit(f'No full result of {name}. Run `make bench ARGS="dedupe state reconcile"` first.')
    return result


if __name__ == "__main__":
    main()
