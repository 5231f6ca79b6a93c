"""What a run did so far, for its summary and for those who watch it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from spark_jobs import metrics_files
from spark_jobs.options import StreamOptions

_PREFIX = "cdc_reconcile_"
_MEANINGS = {
    "micro_batches": "Micro-batches that read something.",
    "records": "Records that were read, all copies.",
    "compacted_buckets": "Buckets that were compacted.",
}


@dataclass(frozen=True, slots=True)
class Figures:
    """Sums over a run."""

    micro_batches: int = 0
    records: int = 0
    compacted_buckets: int = 0

    def after(self, progress: Mapping[str, Any]) -> "Figures":
        """These and a micro-batch, by its progress."""
        records = progress["numInputRows"]
        if not records:
            return self
        return replace(self, micro_batches=self.micro_batches + 1, records=self.records + records)

    def __str__(self) -> str:
        return (
            f"{self.records} records in {self.micro_batches} micro-batches, "
            f"{self.compacted_buckets} buckets compacted"
        )


def write(figures: Figures, options: StreamOptions) -> None:
    """To the files that options name."""
    sums = asdict(figures)
    metrics_files.write(options, sums, metrics_files.counters(_PREFIX, sums, _MEANINGS))
