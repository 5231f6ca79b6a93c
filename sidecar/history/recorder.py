"""Samples the agent every few seconds, records one sample for each minute, and serves them."""

import logging
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import orjson
from flask import Blueprint, Response

from sidecar.history.ring_file import FILE_NAME, Layout, RingFile, Values
from sidecar.logs import RateLimitedLog
from sidecar.process.lifecycle import Worker

logger = logging.getLogger(__name__)

_LOOK_S = 5.0
_JOIN_S = 2.0
_DIGITS = 3

Fold = Literal["max", "min", "last", "rate"]
Sample = Mapping[str, float]
"""Values by column name; a missing value or NaN is unknown."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the history, and how it combines the samples of a minute: `rate` is the increase
    of a total per second."""

    name: str
    fold: Fold = "max"


class HistoryRecorder(Worker):
    """Records on a separate thread inside a `with` block. It never delays delivery, and a failed
    sample or write never stops it."""

    def __init__(
        self,
        directory: Path,
        columns: Sequence[Column],
        sample: Callable[[], Sample],
        *,
        wall_clock: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`sample` is called on the recorder's thread. `wall_clock` returns seconds since 1970."""
        super().__init__("history", self._run, join_s=_JOIN_S)
        self._columns = tuple(columns)
        self._sample = sample
        self._wall_clock = wall_clock
        self._clock = clock
        layout = Layout(tuple(column.name for column in columns))
        self._ring = RingFile(directory / FILE_NAME, layout)
        self._minute: _Minute | None = None
        self._repeated = RateLimitedLog(logger)

    def document(self) -> dict[str, object]:
        """Returns the body of `/history`: the last 24 hours, oldest first, with nulls for minutes
        without a sample."""
        ring, interval_s = self._ring, self._ring.layout.interval_s
        now_s = self._wall_clock()
        known = dict(ring.rows(now_s))
        minute = self._minute
        if minute is not None and minute.time_s <= now_s:
            known[minute.time_s] = minute.values(self._columns)
        unknown = (math.nan,) * len(self._columns)
        first_s = min(known, default=0)
        times = range(first_s, int(now_s) + 1, interval_s) if known else range(0)
        return {
            "interval_s": interval_s,
            "columns": ["epoch_s", *ring.layout.columns],
            "samples": [
                [time_s, *map(_rounded, known.get(time_s, unknown))]
                for time_s in times[-ring.layout.slots :]
            ],
        }

    def look(self) -> None:
        """Takes one sample, and stores the previous minute once it is over."""
        ring = self._ring
        interval_s = ring.layout.interval_s
        time_s = int(self._wall_clock()) // interval_s * interval_s
        before = self._minute
        try:
            sample = self._sample()
        except Exception as error:
            self._repeated.log("sample", "the history is missing a sample", reason=str(error))
            sample = {}
        now_s = self._clock()
        if before is None or before.time_s != time_s:
            if before is not None:
                ring.put(before.time_s, before.values(self._columns))
            before = _Minute(time_s, {} if before is None else before.totals)
        self._minute = before.with_sample(self._columns, sample, now_s)

    def _run(self, stopped: threading.Event) -> None:
        self._ring.load()
        while not stopped.is_set():
            self.look()
            stopped.wait(_LOOK_S)
        if self._minute is not None:
            self._ring.put(self._minute.time_s, self._minute.values(self._columns))


@dataclass(frozen=True, slots=True)
class _Minute:
    """The samples of one minute so far. Frozen, because the server's threads read it."""

    time_s: int
    first_totals: Mapping[str, tuple[float, float]]
    """For each `rate` column: clock and total at the end of the previous minute."""
    totals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    folded: Mapping[str, float] = field(default_factory=dict)

    def with_sample(self, columns: Sequence[Column], sample: Sample, now_s: float) -> "_Minute":
        folded, first, totals = dict(self.folded), dict(self.first_totals), dict(self.totals)
        for column in columns:
            name, value = column.name, sample.get(column.name, math.nan)
            if not math.isfinite(value):
                continue
            if column.fold == "rate":
                first.setdefault(name, (now_s, value))
                totals[name] = (now_s, value)
                (since_s, start) = first[name]
                if now_s > since_s:
                    folded[name] = max(0.0, value - start) / (now_s - since_s)
            elif name not in folded or column.fold == "last":
                folded[name] = value
            else:
                folded[name] = (max if column.fold == "max" else min)(folded[name], value)
        return _Minute(self.time_s, first, totals, folded)

    def values(self, columns: Sequence[Column]) -> Values:
        return tuple(self.folded.get(column.name, math.nan) for column in columns)


def _rounded(value: float) -> float | int | None:
    if not math.isfinite(value):
        return None
    short = round(value, _DIGITS)
    return int(short) if short == int(short) else short


_KEPT_S = 1.0
"""Maximum age of the cached text, which is slow to build."""


def history_pages(
    document: Callable[[], Mapping[str, object]], clock: Callable[[], float] = time.monotonic
) -> Blueprint:
    """Create `GET /history`: the last 24 hours as JSON. `document` is called on the server's
    threads and must not wait. `clock` returns seconds."""
    pages = Blueprint("history", __name__)
    lock = threading.Lock()
    text, made_s = b"", -_KEPT_S

    @pages.get("/history")
    def history() -> Response:
        nonlocal text, made_s
        with lock:
            if clock() - made_s >= _KEPT_S or not text:
                text, made_s = orjson.dumps(document()) + b"\n", clock()
        return Response(text, mimetype="application/json")

    return pages
