"""Statistics of a run, for its summary and for monitoring."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from prometheus_client import CollectorRegistry

from spark_jobs import metrics_files
from spark_jobs.options.stream import StreamOptions

_PREFIX = "cdc_reconcile_"
_HELP_TEXTS = {
    "micro_batches": "Micro-batches that read at least one record.",
    "records": "Records read, including replica copies.",
    "compacted_buckets": "Buckets compacted.",
}


@dataclass(frozen=True, slots=True)
class RunStats:
    """Sums over a run."""

    micro_batches: int = 0
    records: int = 0
    compacted_buckets: int = 0

    def plus(self, progress: Mapping[str, Any]) -> "RunStats":
        """These statistics and one more micro-batch, from its progress."""
        records = progress["numInputRows"]
        if not records:
            return self
        return replace(self, micro_batches=self.micro_batches + 1, records=self.records + records)

    def __str__(self) -> str:
        return (
            f"{self.records} records in {self.micro_batches} micro-batches, "
            f"{self.compacted_buckets} buckets compacted"
        )


def write(stats: RunStats, options: StreamOptions, *, has_failed: bool = False) -> None:
    """Write the statistics to the configured files."""
    sums = asdict(stats)
    metrics_files.write(options, sums, registry_of(stats), job="reconcile", has_failed=has_failed)


def registry_of(stats: RunStats) -> CollectorRegistry:
    """The statistics as metrics of Prometheus."""
    return metrics_files.counters(_PREFIX, asdict(stats), _HELP_TEXTS)
