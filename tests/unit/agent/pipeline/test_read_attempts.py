"""A segment whose read repeatedly ends the process is quarantined; other segments are not."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.cdc_raw.names import SegmentName
from agent.pipeline.read_attempts import (
    FILE,
    MAX_DEATHS,
    DeadlyReadError,
    ReadAttempts,
    ReadNote,
    parse_note,
)
from agent.quarantine.entries import request_retry
from tests.support.pipeline.harness import MakeHarness

NAME = SegmentName(id=1, version=7)
PLACES = st.sampled_from(["a 0", "a 10", "b 0"])


@dataclass(frozen=True)
class Run:
    """One process: the positions that it reads, and how it ends at the last one."""

    reads: tuple[str, ...]
    last: str
    end: str


RUNS = st.builds(
    Run,
    st.lists(PLACES, max_size=3).map(tuple),
    PLACES,
    st.sampled_from(["killed in a read", "killed idle", "stopped", "stopped in a read", "reboot"]),
)


@given(runs=st.lists(RUNS, max_size=12))
def test_only_consecutive_deaths_at_one_position_count(runs: list[Run]) -> None:
    """Each process stores its note, and the next one parses it."""
    note, boots = ReadNote(""), 0
    last, deaths = "", 0
    for run in runs:
        note = parse_note(note.content()).after_start(str(boots))
        for place in run.reads:
            assert note.is_deadly(place) == (place == last and deaths >= MAX_DEATHS)
            note = note.before_read(place).after_read()
            last, deaths = ("", 0) if place == last else (last, deaths)
        assert note.is_deadly(run.last) == (run.last == last and deaths >= MAX_DEATHS)
        match run.end:
            case "killed in a read":
                note = note.before_read(run.last)
                last, deaths = run.last, deaths + 1 if run.last == last else 1
            case "stopped in a read":
                note = note.before_read(run.last).stopped()
            case "reboot":
                note, boots = note.before_read(run.last), boots + 1
            case "stopped":
                note = note.stopped()


@given(content=st.binary(max_size=200))
def test_note_parser_accepts_any_bytes(content: bytes) -> None:
    parse_note(content)


DIE = """
import os, signal, sys
from pathlib import Path
from agent.cdc_raw.names import SegmentName
from agent.pipeline.read_attempts import ReadAttempts
with ReadAttempts(Path(sys.argv[1])).reading(SegmentName(id=1, version=7), 0):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_deadly_segment_is_quarantined_and_can_be_retried(
    tmp_path: Path, make_harness: MakeHarness
) -> None:
    for _ in range(MAX_DEATHS):
        assert subprocess.run([sys.executable, "-c", DIE, str(tmp_path)]).returncode < 0
    harness = make_harness()
    harness.end()
    harness.attempts = attempts = ReadAttempts(tmp_path)
    harness.start()
    deadly, other = harness.raw.segment(1, 2), harness.raw.segment(2, 3)
    for log in (deadly, other):
        log.add(1, 2)
        harness.raw.index(log, "1048576\nCOMPLETED")
    harness.settle()
    harness.acknowledge()
    assert deadly.reads == 0
    assert {deadly.name.log, deadly.name.idx} < harness.quarantined()
    assert harness.archived() == {other.name.log, other.name.idx}
    reason = harness.quarantine.reason(deadly.name)
    assert reason is not None
    assert "died 3 times in a row while it read position 0" in reason.ranges[0].cause
    assert "agent quarantine retry" in reason.ranges[0].cause
    request_retry(harness.quarantine.directory, [deadly.name])
    harness.pass_time(5)
    harness.acknowledge()
    assert (harness.collect(), harness.quarantined()) == (other.ids() + deadly.ids(), set())
    attempts.close()


def test_unwritable_read_note_does_not_stop_reading(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / FILE).mkdir()
    attempts = ReadAttempts(tmp_path)
    with attempts.reading(NAME, 0):
        pass
    attempts.close()
    assert "cannot note which segment it reads" in caplog.text


def test_stop_during_read_is_not_counted_as_death(tmp_path: Path) -> None:
    for _ in range(MAX_DEATHS + 1):
        attempts = ReadAttempts(tmp_path)
        with attempts.reading(NAME, 0):
            attempts.close()
    assert parse_note((tmp_path / FILE).read_bytes()).deaths == 0
    note = ReadNote("", suspect=f"{NAME.log} 0", deaths=MAX_DEATHS)
    (tmp_path / FILE).write_bytes(note.content())
    with pytest.raises(DeadlyReadError), ReadAttempts(tmp_path).reading(NAME, 0):
        pass
