"""How large the Spark jobs have to be: `python -m benches.sizing` computes the table of
docs/evidence/spark-sizing.md from the last full results of `dedupe`, `state` and `reconcile`.
"""

import json
import math
from dataclasses import dataclass
from typing import Any

from benches.paths import bench_directory
from benches.stats import print_table

RATES = (10_000, 100_000, 1_000_000)
REPLICAS = 3
TTL_S = 6 * 3600
TRIGGER_S = 300
USED_SHARE = 0.6
CATCH_UP = 2
RECORDS_OF_KAFKA_PARTITION = 10_000
TABLE_CELLS = (100_000_000, 1_000_000_000, 10_000_000_000)
LOOSE_FILES = 8
"""`compact.after.files`: one more and a bucket is written anew."""
STATE_PARTITION_BYTES = 1e9


@dataclass(frozen=True)
class Laws:
    """Measured rates, in records (replica copies) per CPU second."""

    dedupe_rate: float
    reconcile_rate: float
    compaction_us: float
    """CPU seconds to rewrite one cell of a table."""
    scan_us: float
    disk_bytes: float
    checkpoint_bytes: float


@dataclass(frozen=True)
class Sizing:
    """What so many events a second need. Cores are rounded up; `cores_*` leave room to catch up."""

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
    """Cost of one compaction of all buckets."""
    return cells * laws.compaction_us / 1e6


def compaction_cores(cells: int, laws: Laws) -> int:
    """Where every micro-batch touches every bucket, so that each is written anew as often as
    loose files allow."""
    every_s = (LOOSE_FILES + 1) * TRIGGER_S
    return math.ceil(compaction_core_s(cells, laws) / every_s / USED_SHARE)


def main() -> None:
    laws = _laws()
    print(laws)
    print_table(
        f"compaction, compact.after.files = {LOOSE_FILES}, a trigger of {TRIGGER_S} s",
        ("cells in the table", "all buckets once, core-s", "cores"),
        [
            (
                f"{cells:.0e}",
                f"{compaction_core_s(cells, laws):,.0f}",
                f"{compaction_cores(cells, laws):,}",
            )
            for cells in TABLE_CELLS
        ],
    )
    print_table(
        f"RF {REPLICAS}, ttl.ms = {TTL_S // 3600} h, a trigger of {TRIGGER_S} s",
        (
            "events/s",
            "records/s",
            "Kafka partitions",
            "keys in state",
            "RocksDB, GB",
            "checkpoint, MB/s",
            "scan, core-s",
            "state partitions",
            "cores, dedupe",
            "cores, reconcile",
        ),
        [
            (
                f"{each.events:,}",
                f"{each.records:,}",
                f"{each.kafka_partitions:,}",
                f"{each.keys:.1e}",
                f"{each.disk_gb:,.0f}",
                f"{each.checkpoint_mb_per_s:,.1f}",
                f"{each.scan_core_s:,.0f}",
                f"{each.state_partitions:,}",
                f"{each.cores_dedupe:,}",
                f"{each.cores_reconcile:,}",
            )
            for each in (sizing(events, laws) for events in RATES)
        ],
    )


def _laws() -> Laws:
    dedupe, state, reconcile = (_result(name) for name in ("dedupe", "state", "reconcile"))
    (ours,) = [way for way in dedupe["ways"] if way["name"] == "ours"]
    appended = [size for size in reconcile["sizes"] if size["layout"] == "append"]
    last = state["steps"][-1]
    return Laws(
        dedupe_rate=ours["cpu_rate"]["median"],
        reconcile_rate=min(size["rate"]["median"] for size in appended),
        compaction_us=appended[-1]["compaction_cpu_s_per_million"],
        scan_us=state["laws"]["scan_us"],
        disk_bytes=last["disk_bytes"],
        checkpoint_bytes=last["checkpoint_bytes"],
    )


def _result(name: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((bench_directory() / f"{name}.json").read_text())
    return result


if __name__ == "__main__":
    main()
