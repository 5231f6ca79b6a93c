"""What a run did so far, for its summary and for those who watch it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, Counter, write_to_textfile

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
    """To the files that options name, whole or not at all."""
    if options.metrics_json_file is not None:
        _replace(options.metrics_json_file, json.dumps(asdict(figures)) + "\n")
    if options.metrics_prometheus_file is not None:
        registry = CollectorRegistry()
        for name, value in asdict(figures).items():
            Counter(_PREFIX + name, _MEANINGS[name], registry=registry).inc(value)
        write_to_textfile(str(options.metrics_prometheus_file), registry)


def _replace(path: Path, text: str) -> None:
    unfinished = path.with_name(f".{path.name}.tmp")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)
