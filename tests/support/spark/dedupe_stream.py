"""A dedupe query over a stream of files, with its own sink and checkpoint."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import Row, SparkSession

from spark_jobs.dedupe.job import start_dedupe
from spark_jobs.dedupe.options import DedupeJobOptions
from spark_jobs.dedupe.stats import RunStats, batch_stats
from spark_jobs.progress import follow
from spark_jobs.storage import OwnedCheckpoint
from tests.support.spark.options import dotted, options_of
from tests.support.spark.records import Record, RecordStream


def job_options(**settings: str) -> DedupeJobOptions:
    """Options by name, with `_` for the dots."""
    base = {"kafka.bootstrap.servers": "127.0.0.1:1", "topics": "shop.orders"}
    return options_of(DedupeJobOptions, {**base, **dotted(settings)})


@dataclass
class DedupeStream:
    """`run` processes the added records, one micro-batch for each `add`."""

    spark: SparkSession
    folder: Path
    settings: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._records = RecordStream(self.spark, self.folder / "records")

    @property
    def table(self) -> Path:
        return self.folder / "table"

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    def add(self, *records: Record) -> None:
        self._records.add(records)

    def run(
        self,
        stop: threading.Event | None = None,
        until: Callable[[RunStats], bool] = lambda _: False,
    ) -> RunStats:
        """Run until all records are processed. Sets `stop` when `until` is true."""
        given: dict[str, str] = {
            "sink_delta_path": str(self.table),
            "checkpoint": str(self.checkpoint),
            **self.settings,
        }
        stats = RunStats()

        def each(progress: Any) -> None:
            nonlocal stats
            stats = stats.plus(batch_stats(progress))
            if stop is not None and until(stats):
                stop.set()

        checkpoint = OwnedCheckpoint("id", is_new=True)
        started = start_dedupe(self._records.read(), job_options(**given), checkpoint)
        follow(started, each, stop=stop)
        return stats

    def rows(self) -> Sequence[Row]:
        return self.spark.read.format("delta").load(str(self.table)).collect()

    def ids(self) -> list[bytes]:
        """The sorted ids of the written events."""
        return sorted(bytes(row.id) for row in self.rows())

    def forget_last_commit(self) -> None:
        forget_last_commit(self.checkpoint)


def forget_last_commit(checkpoint: Path) -> None:
    """Simulate a crash of the driver between the sink and the commit of the last micro-batch."""
    commits = checkpoint / "commits"
    last = max(int(path.name) for path in commits.iterdir() if path.name.isdigit())
    for name in (str(last), f".{last}.crc"):
        (commits / name).unlink(missing_ok=True)
