"""Statistics of a run, for its summary and for monitoring."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from prometheus_client import CollectorRegistry, Gauge

from spark_jobs import metrics_files
from spark_jobs.options.job import StreamOptions
from spark_jobs.progress import MicroBatch, micro_batch
from spark_jobs.reconcile.store import StoreSize

_PREFIX = "cdc_reconcile_"
_HELP_TEXTS = {
    "micro_batches": "Micro-batches that read at least one record.",
    "records": "Records read, including replica copies.",
    "compacted_buckets": "Buckets compacted.",
}
_STORE_TEXTS = {
    "bytes": "Bytes of the current version of a version store.",
    "files": "Data files of the current version of a version store.",
    "rows": "Rows of the current version of a version store: events and merged states.",
}


@dataclass(frozen=True, slots=True)
class RunStats:
    """Sums over a run."""

    micro_batches: int = 0
    records: int = 0
    compacted_buckets: int = 0
    last: MicroBatch | None = None
    store: StoreSize | None = None
    """The size of the store, if it was measured."""

    def plus(self, progress: Mapping[str, Any]) -> "RunStats":
        """These statistics and one more micro-batch, from its progress."""
        records = progress["numInputRows"]
        return replace(
            self,
            micro_batches=self.micro_batches + (records > 0),
            records=self.records + records,
            last=micro_batch(progress),
        )

    def sums(self) -> dict[str, int]:
        """The counters by name."""
        return {name: getattr(self, name) for name in _HELP_TEXTS}

    def as_json(self) -> dict[str, Any]:
        """All statistics by name."""
        return {
            **self.sums(),
            "last": None if self.last is None else asdict(self.last),
            "store": None if self.store is None else asdict(self.store),
        }

    def __str__(self) -> str:
        return (
            f"{self.records} records in {self.micro_batches} micro-batches, "
            f"{self.compacted_buckets} buckets compacted"
        )


def write(stats: RunStats, options: StreamOptions, *, has_failed: bool = False) -> None:
    """Write the statistics to the configured files."""
    metrics_files.write(
        options,
        stats.as_json(),
        registry_of(stats),
        job="reconcile",
        last=stats.last,
        has_failed=has_failed,
    )


def registry_of(stats: RunStats) -> CollectorRegistry:
    """The statistics as metrics of Prometheus."""
    registry = metrics_files.counters(_PREFIX, stats.sums(), _HELP_TEXTS)
    if stats.store is not None:
        for name, value in asdict(stats.store).items():
            Gauge(f"cdc_store_{name}", _STORE_TEXTS[name], registry=registry).set(value)
    return registry
