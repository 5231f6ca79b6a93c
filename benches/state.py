"""Measures the cost of dedupe's state, per new key and per remembered key.

Small batches follow each batch of keys. Their CPU time grows with the number of remembered keys,
because each micro-batch scans all keys for expiry.
"""

from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from benches.harness import Result, print_table, progress_bar, scratch_directory
from benches.spark import SparkUnderTest
from spark_jobs.dedupe.replica_copies import dedupe

KEYS = (250_000, 750_000, 1_000_000)
SMALL_BATCHES = 4
_COLUMNS = "id BINARY, value BINARY, topic STRING, partition INT, offset BIGINT"


@dataclass(frozen=True)
class StateResult:
    """After `keys` keys: CPU microseconds and checkpoint bytes per new key, RocksDB bytes per
    remembered key, and CPU seconds of a small batch."""

    keys: int
    in_cpu_us: float
    checkpoint_bytes: float
    disk_bytes: float
    memory_mib: float
    small_batch_cpu_s: float


def run(is_quick: bool) -> Result:
    steps = (20_000, 40_000) if is_quick else KEYS
    results: list[StateResult] = []
    with (
        scratch_directory("state") as scratch,
        SparkUnderTest.started() as spark,
        progress_bar("state", len(steps)) as step,
    ):
        folder, checkpoint = scratch / "keys", scratch / "checkpoint"
        folder.mkdir()
        session = spark.session
        stream = session.readStream.schema(_COLUMNS).option("maxFilesPerTrigger", 1)
        query = (
            dedupe(stream.parquet(str(folder)))
            .writeStream.format("noop")
            .option("checkpointLocation", str(checkpoint))
            .start()
        )
        total = 0

        def add(count: int) -> float:
            nonlocal total
            _write_keys(spark, folder, total, count)
            total += count
            return spark.cost_of(query.processAllAvailable).cpu_s

        add(1000)
        for count in steps:
            before = _size(checkpoint)
            cpu_s = add(count)
            written = _size(checkpoint) - before
            # The minimum is the cost of the work; the rest is compilation and other programs.
            small_s = min(add(1) for _ in range(SMALL_BATCHES))
            results.append(_result(query, total, cpu_s / count * 1e6, written / count, small_s))
            step()
        query.stop()
    first, last = results[0], results[-1]
    grown = last.small_batch_cpu_s - first.small_batch_cpu_s
    scan_us = grown / (last.keys - first.keys) * 1e6
    print_table(
        f"a micro-batch scans the keys at {scan_us:.2f} CPU µs a key",
        results,
        {
            "keys": lambda each: f"{each.keys:,}",
            "CPU µs a new key": lambda each: f"{each.in_cpu_us:.1f}",
            "checkpoint bytes": lambda each: f"{each.checkpoint_bytes:.0f}",
            "RocksDB bytes": lambda each: f"{each.disk_bytes:.0f}",
            "MiB": lambda each: f"{each.memory_mib:.0f}",
            "small batch, s": lambda each: f"{each.small_batch_cpu_s:.2f}",
        },
    )
    return {"steps": results, "laws": {"scan_us": scan_us}}


def _write_keys(spark: SparkUnderTest, folder: Path, start: int, count: int) -> None:
    """Write one file, which becomes one micro-batch, with ids that resemble event ids."""
    numbers = spark.session.range(start, start + count, 1, 1)
    rows = numbers.select(
        F.unhex(F.md5(F.col("id").cast("string"))).alias("id"),
        F.lit(b"{}").alias("value"),
        F.lit("topic").alias("topic"),
        F.lit(0).alias("partition"),
        F.col("id").alias("offset"),
    )
    part = folder.with_name(f"part-{start}")
    rows.write.parquet(str(part))
    (file,) = part.glob("*.parquet")
    file.rename(folder / f"{start:012}.parquet")


def _result(
    query: StreamingQuery, keys: int, in_cpu_us: float, checkpoint_bytes: float, small_s: float
) -> StateResult:
    progress = query.lastProgress
    assert progress is not None
    (state,) = progress["stateOperators"]
    disk = state["customMetrics"]["rocksdbSstFileSize"]
    memory_mib = state["memoryUsedBytes"] / (1 << 20)
    return StateResult(keys, in_cpu_us, checkpoint_bytes, disk / keys, memory_mib, small_s)


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
