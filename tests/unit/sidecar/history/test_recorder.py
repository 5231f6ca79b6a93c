"""The recorder: one sample per minute, and the document of /history."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sidecar.history.recorder import Column, HistoryRecorder, Sample

COLUMNS = (Column("lag_s"), Column("events_per_s", "rate"), Column("limit", "last"))
MINUTE_S = 60_000


@dataclass
class Source:
    """A wall clock, a monotonic clock and the values of the next sample."""

    wall_s: float = MINUTE_S
    monotonic_s: float = 100.0
    values: dict[str, float] = field(default_factory=dict)
    error: Exception | None = None

    def sample(self) -> Sample:
        if self.error is not None:
            raise self.error
        return dict(self.values)

    def after(self, seconds: float, **values: float) -> None:
        self.wall_s += seconds
        self.monotonic_s += seconds
        self.values |= values


def recorder(directory: Path, source: Source) -> HistoryRecorder:
    return HistoryRecorder(
        directory,
        COLUMNS,
        source.sample,
        wall_clock=lambda: source.wall_s,
        clock=lambda: source.monotonic_s,
    )


def samples(found: HistoryRecorder) -> Any:
    return found.document()["samples"]


def test_history_document_lists_columns(tmp_path: Path) -> None:
    assert recorder(tmp_path, Source()).document() == {
        "interval_s": 60,
        "columns": ["epoch_s", "lag_s", "events_per_s", "limit"],
        "samples": [],
    }


def test_first_sample_appears_immediately(tmp_path: Path) -> None:
    source = Source(values={"lag_s": 1.5, "events_per_s": 10})
    found = recorder(tmp_path, source)
    found.look()
    assert samples(found) == [[MINUTE_S, 1.5, None, None]]


def test_minute_sample_contains_worst_lag_rate_and_last_limit(tmp_path: Path) -> None:
    source = Source(values={"lag_s": 1, "events_per_s": 100, "limit": 7})
    found = recorder(tmp_path, source)
    found.look()
    source.after(20, lag_s=9, events_per_s=300, limit=8)
    found.look()
    source.after(20, lag_s=2, events_per_s=500)
    found.look()
    assert samples(found) == [[MINUTE_S, 9, 10, 8]]
    source.after(40, events_per_s=900)
    found.look()
    # The rate of the next minute begins where the last sample ended.
    assert samples(found) == [[MINUTE_S, 9, 10, 8], [MINUTE_S + 60, 2, 10, 8]]


def test_minutes_without_the_agent_are_null(tmp_path: Path) -> None:
    source = Source(values={"lag_s": 1})
    with recorder(tmp_path, source) as first:
        first.look()
    source.after(200, lag_s=3)
    again = recorder(tmp_path, source)
    with again:
        again.look()
    assert samples(again) == [
        [MINUTE_S, 1, None, None],
        [MINUTE_S + 60, None, None, None],
        [MINUTE_S + 120, None, None, None],
        [MINUTE_S + 180, 3, None, None],
    ]


def test_history_is_limited_to_one_day(tmp_path: Path) -> None:
    source = Source(values={"lag_s": 1})
    found = recorder(tmp_path, source)
    for _ in range(1500):
        found.look()
        source.after(60)
    assert len(samples(found)) == 1440
    assert samples(found)[-1][0] == int(source.wall_s)


def test_clock_set_back_hides_future_samples(tmp_path: Path) -> None:
    source = Source(values={"lag_s": 1})
    found = recorder(tmp_path, source)
    for _ in range(3):
        found.look()
        source.after(60)
    source.wall_s = MINUTE_S + 60
    source.values["lag_s"] = 5
    found.look()
    assert samples(found) == [[MINUTE_S, 1, None, None], [MINUTE_S + 60, 5, None, None]]


def test_a_rate_never_depends_on_the_wall_clock(tmp_path: Path) -> None:
    source = Source(values={"events_per_s": 0})
    found = recorder(tmp_path, source)
    found.look()
    source.after(10, events_per_s=100)
    source.wall_s -= 7200
    found.look()
    assert samples(found)[-1][2] == 10


def test_failed_sample_is_a_gap(tmp_path: Path) -> None:
    source = Source(error=RuntimeError("no view"))
    found = recorder(tmp_path, source)
    found.look()
    assert samples(found) == [[MINUTE_S, None, None, None]]
    source.error, source.values = None, {"lag_s": float("nan"), "limit": float("inf")}
    found.look()
    assert samples(found) == [[MINUTE_S, None, None, None]]
