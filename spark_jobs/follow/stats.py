"""Statistics of a follower by source table, for its progress and for monitoring. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge
from pyspark.sql import Column, Row
from pyspark.sql import functions as F

from spark_jobs.follow.plan import Position

OPS = {"c": "created", "u": "updated", "d": "deleted"}
"""The names of the counts in `aggregates`, by `op`."""
_LABELS = ("spark_job", "table")
_NEWEST = "newest_write_us"
_GAUGES = {
    "batch_seconds": "Duration of the latest batch of changes in seconds, by job and source table.",
    "position_timestamp_seconds": "Time in seconds since 1970 at which the target of a job equals "
    "the version store, by job and source table.",
    "newest_write_timestamp_seconds": "Largest write time of an applied change in seconds since "
    "1970, by job and source table.",
}


def aggregates() -> list[Column]:
    """The aggregates of a batch's changes that `TableStats.plus` needs."""
    counts = [F.count_if(F.col("op") == op).alias(name) for op, name in OPS.items()]
    write_us = F.when(F.col("cause") == "write", F.col("ts_us"))
    rejected = F.count("rejected").alias("rejected")
    return [*counts, F.max(write_us).alias(_NEWEST), rejected]


@dataclass(frozen=True, slots=True)
class TableStats:
    """What a follower has applied from one table since its start."""

    batches: int = 0
    created: int = 0
    updated: int = 0
    deleted: int = 0
    newest_write_us: int | None = None
    """Largest write time of an applied change, in microseconds since 1970."""
    batch_s: float | None = None
    """Duration of the latest batch in seconds."""
    position: Position | None = None
    rejected: int = 0
    """Rows that went to the dead letters."""

    def plus(self, batch: Row, duration_s: float) -> "TableStats":
        """Add a batch, given its `aggregates`."""
        writes = [us for us in (self.newest_write_us, batch[_NEWEST]) if us is not None]
        return replace(
            self,
            batches=self.batches + 1,
            created=self.created + batch["created"],
            updated=self.updated + batch["updated"],
            deleted=self.deleted + batch["deleted"],
            rejected=self.rejected + batch["rejected"],
            newest_write_us=max(writes, default=None),
            batch_s=duration_s,
        )

    def as_json(self) -> dict[str, Any]:
        position = self.position
        names = ("batches", "created", "updated", "deleted", "rejected", "newest_write_us")
        return {
            **{name: getattr(self, name) for name in names},
            "batch_ms": None if self.batch_s is None else round(self.batch_s * 1000),
            "store_version": None if position is None else position.store_version,
            "second": None if position is None else position.second,
        }


def summary(stats: Mapping[str, TableStats]) -> str:
    """One line about all tables."""
    names = ("batches", "created", "updated", "deleted", "rejected")
    batches, created, updated, deleted, rejected = (
        sum(getattr(each, name) for each in stats.values()) for name in names
    )
    text = f"{batches:,} batches, rows: {created:,} new, {updated:,} updated, {deleted:,} deleted"
    return text if not rejected else f"{text}, {rejected:,} in dead letters"


def add_metrics(registry: CollectorRegistry, job: str, stats: Mapping[str, TableStats]) -> None:
    batches = Counter(
        "cdc_follow_batches",
        "Batches of changes that a job applied to its target, by job and source table.",
        _LABELS,
        registry=registry,
    )
    changes = Counter(
        "cdc_follow_changes",
        "Changed rows that a job applied to its target, by job, source table and operation (c, u, "
        "d).",
        (*_LABELS, "op"),
        registry=registry,
    )
    gauges = {
        name: Gauge(f"cdc_follow_{name}", text, _LABELS, registry=registry)
        for name, text in _GAUGES.items()
    }
    for table, each in stats.items():
        batches.labels(job, table).inc(each.batches)
        for op, name in OPS.items():
            changes.labels(job, table, op).inc(getattr(each, name))
        values = {
            "batch_seconds": each.batch_s,
            "position_timestamp_seconds": None if each.position is None else each.position.second,
            "newest_write_timestamp_seconds": (
                None if each.newest_write_us is None else each.newest_write_us / 1e6
            ),
        }
        for name, value in values.items():
            if value is not None:
                gauges[name].labels(job, table).set(value)
