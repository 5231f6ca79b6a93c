"""Periodic scans of `cdc_raw`: `cdc.dir.poll.interval.ms`."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from agent.pipeline.directory_scanner import DirectoryScanner
from agent.segments.awaited_files import PATIENCE_S
from tests.support.pipeline.fakes import FakeClock
from tests.support.pipeline.harness import PipelineHarness


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def scanner(tmp_path: Path, clock: FakeClock) -> Iterator[DirectoryScanner]:
    with closing(DirectoryScanner(tmp_path, 7.0, lambda: None, clock=clock)) as scanner:
        yield scanner


def test_directory_without_events_is_scanned_after_interval(
    scanner: DirectoryScanner, clock: FakeClock
) -> None:
    assert scanner.due_in_s == 0.0
    assert scanner.scan(lambda name: False) is not None
    for passed_s, due_in_s in ((0.0, 7.0), (6.5, 0.5), (0.5, 0.0)):
        clock.advance(passed_s)
        assert scanner.due_in_s == pytest.approx(due_in_s)


@pytest.mark.parametrize(("took_s", "pause_s"), [(0.004, 0.0), (0.1, 0.4), (60.0, 5.0)])
def test_the_pause_after_a_long_scan_is_bounded(
    scanner: DirectoryScanner, took_s: float, pause_s: float
) -> None:
    """A process that was frozen for a minute during a scan continues to scan."""
    scanner.scan(lambda name: False)
    scanner.pause_after(took_s)
    scanner.request()
    assert scanner.due_in_s == pytest.approx(pause_s)


def test_late_segment_file_is_not_reported_as_lost(
    harness: PipelineHarness, caplog: pytest.LogCaptureFixture
) -> None:
    log = harness.raw.completed(1, 5)
    newer = harness.raw.completed(2, 5)
    file = harness.raw.directory / log.name.log
    copied = file.rename(harness.relocation.with_name("copied"))
    harness.settle()
    assert harness.collect() == []
    copied.rename(file)
    harness.settle()
    assert harness.collect() == log.ids() + newer.ids()
    assert harness.quarantined() == set()
    assert [record for record in caplog.records if record.levelname == "WARNING"] == []


def test_index_without_segment_is_reported_as_lost(
    harness: PipelineHarness,
) -> None:
    log, newer = harness.raw.completed(1, 5), harness.raw.completed(2, 5)
    (harness.raw.directory / log.name.log).unlink()
    harness.settle()
    harness.clock.advance(PATIENCE_S)
    while harness.pipeline.tick():
        pass
    assert harness.collect() == newer.ids()
    assert f"{log.name.log}.reason.json" in harness.quarantined()


def test_growth_rate_starts_at_first_scan(harness: PipelineHarness) -> None:
    """An initial size of 0 would count as growth."""
    harness.raw.live(1, 5)
    for _ in range(10):
        assert not harness.view.raw_growth_bytes_per_s
        harness.clock.advance(6.0)
        harness.pipeline.tick()
    assert harness.view.raw_bytes
    assert harness.view.raw_growth_bytes_per_s == 0.0
