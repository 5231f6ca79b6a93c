"""Records the reports in a job's JSON file, and plots rows, lag and store size over time."""

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benches.charts import Lines, lines_chart

_INTERVAL_S = 1.0


@dataclass(frozen=True, slots=True)
class Sample:
    """A report of a job that follows a store, `at_s` seconds after the recording started."""

    at_s: float
    rows: int
    """Rows that were created, updated or deleted in all typed tables so far."""
    lag_s: float | None
    """Time since the newest applied write."""
    store_rows: int | None
    store_bytes: int | None


def sample(report: Mapping[str, Any], at_s: float, now_s: float) -> Sample:
    """Convert a report (`metrics.json.file`) to a sample. `now_s` is the time since 1970."""
    tables = report.get("tables", {}).values()
    newest_us = max((each["newest_write_us"] or 0 for each in tables), default=0)
    store = report.get("store") or {}
    return Sample(
        at_s,
        sum(each[name] for each in tables for name in ("created", "updated", "deleted")),
        max(0.0, now_s - newest_us / 1e6) if newest_us else None,
        store.get("rows"),
        store.get("bytes"),
    )


@contextmanager
def recorded(path: Path) -> Iterator[list[Sample]]:
    """Sample the file every second while the block runs. Deletes an existing file first."""
    path.unlink(missing_ok=True)
    samples: list[Sample] = []
    begin_s, ended = time.monotonic(), threading.Event()

    def record() -> None:
        while not ended.wait(_INTERVAL_S):
            if path.exists():
                report = json.loads(path.read_text(encoding="utf-8"))
                samples.append(sample(report, time.monotonic() - begin_s, time.time()))

    thread = threading.Thread(target=record, name="recording", daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        ended.set()
        thread.join()


def picture(title: str, samples: list[Sample]) -> str:
    """Plot the samples as SVG."""
    return lines_chart(
        title,
        (
            Lines("Changed rows so far", [(each.at_s, float(each.rows)) for each in samples]),
            Lines("Seconds since the newest applied write", _points(samples, "lag_s")),
            Lines("Rows of the version store", _points(samples, "store_rows")),
            Lines("Bytes of the version store", _points(samples, "store_bytes")),
        ),
    )


def _points(samples: list[Sample], name: str) -> list[tuple[float, float]]:
    found = ((each.at_s, getattr(each, name)) for each in samples)
    return [(at_s, float(value)) for at_s, value in found if value is not None]
