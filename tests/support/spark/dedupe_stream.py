"""A dedupe query over a stream of files, with a sink and a checkpoint of its own."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import Row, SparkSession

from spark_jobs.checkpoint import Claim
from spark_jobs.dedupe import query
from spark_jobs.dedupe.figures import Figures, batch_of
from spark_jobs.dedupe.job_options import DedupeJobOptions
from spark_jobs.progress import follow
from tests.support.spark.options import dotted, options_of
from tests.support.spark.records import Record, RecordStream


def job_options(**settings: str) -> DedupeJobOptions:
    """Options by name, with `_` for the dots."""
    base = {"kafka.bootstrap.servers": "127.0.0.1:1", "topics": "shop.orders"}
    return options_of(DedupeJobOptions, {**base, **dotted(settings)})


@dataclass
class Stream:
    """`run` works off what was added, one micro-batch for each `add`."""

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
        until: Callable[[Figures], bool] = lambda _: False,
    ) -> Figures:
        """Until everything is worked off; `stop` is set when `until` holds."""
        given: dict[str, str] = {
            "sink_delta_path": str(self.table),
            "checkpoint": str(self.checkpoint),
            **self.settings,
        }
        figures = Figures()

        def each(progress: Any) -> None:
            nonlocal figures
            figures = figures.after(batch_of(progress))
            if stop is not None and until(figures):
                stop.set()

        started = query.start(self._records.read(), job_options(**given), Claim("id", is_new=True))
        follow(started, each, stop=stop)
        return figures

    def rows(self) -> Sequence[Row]:
        return self.spark.read.format("delta").load(str(self.table)).collect()

    def ids(self) -> list[bytes]:
        """Of the events that came out, in the order of their ids."""
        return sorted(bytes(row.id) for row in self.rows())

    def forget_last_commit(self) -> None:
        """As if the driver had died between the sink and the commit of the last micro-batch."""
        commits = self.checkpoint / "commits"
        last = max(int(path.name) for path in commits.iterdir() if path.name.isdigit())
        for name in (str(last), f".{last}.crc"):
            (commits / name).unlink(missing_ok=True)
