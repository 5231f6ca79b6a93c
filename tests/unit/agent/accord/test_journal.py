"""The journal reader over a recorded journal: writes, waits and reports."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent.accord.journal import AccordJournal, JournalParts
from agent.accord.position import JournalPosition
from agent.cdc_raw.names import SegmentName
from agent.cdc_raw.observation import observe
from agent.quarantine.files import LostRange
from commitlog import ColumnIds, Schema
from sidecar.errors import OffsetSaveError
from tests.support.node.accord_journal import (
    SEGMENT,
    WRITTEN_BYTES,
    column_ids,
    events_of,
    journal_bytes,
    schema,
)

NEXT = "log-1795711176864-1-1-1.data"
LATER = "log-1795711176866-1-1-1.data"
EVENTS = 23
HALF = 53_000
"""In the middle of the recorded transactions."""


@dataclass
class Harness:
    """A journal in a folder, with a clock that the test moves."""

    folder: Path
    schema: Schema | None = field(default_factory=schema)
    ids: ColumnIds | None = field(default_factory=column_ids)
    saved: JournalPosition = field(default_factory=JournalPosition)
    lost: list[tuple[SegmentName, LostRange]] = field(default_factory=list)
    refreshed: list[str] = field(default_factory=list)
    now_s: float = 0.0
    save_error: str = ""
    is_recording: bool = True

    def __post_init__(self) -> None:
        self.directory = self.folder / "accord_journal"
        self.cdc_raw = self.folder / "cdc_raw"
        self.directory.mkdir(parents=True, exist_ok=True)
        self.cdc_raw.mkdir(exist_ok=True)

    def journal(self) -> AccordJournal:
        """Create a new reader, as after a restart."""
        journal = AccordJournal(
            self.directory,
            self.cdc_raw,
            self.saved,
            60.0,
            JournalParts(
                schema=lambda: self.schema,
                refresh_schema=self._refresh,
                column_ids=lambda: self.ids,
                request_column_ids=lambda: None,
                save=self._save,
                clock=lambda: self.now_s,
            ),
        )
        journal.record = self._record
        return journal

    def started(self, data: bytes | None = None) -> AccordJournal:
        """Create a reader that has read the recorded journal, or `data`."""
        self.write(SEGMENT, journal_bytes() if data is None else data)
        journal = self.journal()
        self.tick(journal)
        return journal

    def write(self, name: str, data: bytes) -> None:
        """Write in place, as the node does to its mapped file."""
        path = self.directory / name
        if not path.exists():
            path.write_bytes(bytes(1 << 17))
        with path.open("r+b") as file:
            file.write(data)

    def close(self, name: str) -> None:
        (self.directory / name).with_suffix(".meta").touch()

    def tick(self, journal: AccordJournal, seconds: float = 1.0) -> bool:
        self.now_s += seconds
        return journal.tick()

    def ids_of_events(self) -> list[str]:
        return [
            event["headers"]["cdc.id"]
            for seen in observe(self.cdc_raw).segments
            for event in events_of(self.cdc_raw / seen.name.log)
        ]

    def _refresh(self, reason: str) -> bool:
        self.refreshed.append(reason)
        return False

    def _save(self, position: JournalPosition) -> None:
        if self.save_error:
            raise OffsetSaveError(self.save_error)
        self.saved = position

    def _record(self, name: SegmentName, lost: LostRange) -> bool:
        if self.is_recording:
            self.lost.append((name, lost))
        return self.is_recording


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    return Harness(tmp_path)


def test_transactions_become_a_completed_segment(harness: Harness) -> None:
    harness.write(SEGMENT, journal_bytes())
    journal = harness.journal()
    assert harness.tick(journal)
    (seen,) = observe(harness.cdc_raw).segments
    assert seen.name == SegmentName(1, 9)
    assert seen.idx.completed
    assert (len(harness.ids_of_events()), harness.saved.offset) == (EVENTS, WRITTEN_BYTES)
    assert not harness.tick(journal)
    assert (len(harness.ids_of_events()), journal.view.error) == (EVENTS, "")
    journal.close()


def test_restart_resumes_inside_journal_segment(harness: Harness) -> None:
    harness.started(journal_bytes()[:HALF]).close()
    before = harness.ids_of_events()
    harness.write(SEGMENT, journal_bytes())
    second = harness.journal()
    harness.tick(second)
    second.close()
    after = harness.ids_of_events()
    assert len(after) == EVENTS > len(before) > 0
    assert (after[: len(before)], harness.lost) == (before, [])


def test_segment_ids_are_never_reused(harness: Harness) -> None:
    harness.started()
    assert harness.saved.next_id == 1001
    # A crash during a save loses the position but not the reserved ids.
    harness.saved = JournalPosition(next_id=harness.saved.next_id)
    harness.tick(harness.journal())
    assert [seen.name.id for seen in observe(harness.cdc_raw).segments] == [1, 1001]


def test_segment_deleted_by_node_is_read_to_its_end(harness: Harness) -> None:
    journal = harness.started(journal_bytes()[:HALF])
    harness.write(SEGMENT, journal_bytes())
    harness.write(NEXT, b"")
    (harness.directory / SEGMENT).unlink()
    harness.tick(journal)
    assert (len(harness.ids_of_events()), str(harness.saved.segment)) == (EVENTS, NEXT)
    assert harness.lost == []


def test_next_segment_waits_until_current_segment_is_closed(harness: Harness) -> None:
    harness.write(SEGMENT, journal_bytes()[:HALF])
    harness.write(NEXT, b"")
    journal = harness.journal()
    harness.tick(journal)
    assert str(harness.saved.segment) == SEGMENT
    harness.close(SEGMENT)
    harness.tick(journal)
    harness.tick(journal)
    assert str(harness.saved.segment) == NEXT


def test_segments_deleted_while_stopped_are_recorded_as_lost(harness: Harness) -> None:
    harness.started().close()
    (harness.directory / SEGMENT).unlink()
    harness.write(LATER, b"")
    second = harness.journal()
    harness.is_recording = False
    harness.tick(second)
    assert str(harness.saved.segment) == SEGMENT
    harness.is_recording = True
    harness.tick(second)
    ((name, lost),) = harness.lost
    assert name.id > 1000
    assert "while the agent was stopped" in lost.cause
    assert str(harness.saved.segment) == LATER
    harness.tick(harness.journal())
    assert len(harness.lost) == 1


def test_unseen_segments_are_recorded_as_lost(harness: Harness) -> None:
    journal = harness.started()
    (harness.directory / SEGMENT).unlink()
    harness.write(LATER, b"")
    harness.tick(journal)
    ((_, lost),) = harness.lost
    assert f"between {SEGMENT} and {LATER}" in lost.cause


def test_unknown_column_blocks_until_its_id_is_known(harness: Harness) -> None:
    harness.ids = ColumnIds([])
    journal = harness.started()
    assert "has no column with the id" in journal.view.blocked
    assert harness.refreshed
    assert harness.lost == []
    harness.tick(journal, 30)
    assert journal.view.blocked_s == 30
    harness.ids = column_ids()
    harness.tick(journal)
    assert (journal.view.blocked, len(harness.ids_of_events())) == ("", EVENTS)


def test_unknown_column_is_recorded_as_lost_after_timeout(harness: Harness) -> None:
    harness.ids = ColumnIds([])
    journal = harness.started()
    harness.is_recording = False
    harness.tick(journal, 61)
    offset = harness.saved.offset
    harness.is_recording = True
    while harness.saved.offset < WRITTEN_BYTES:
        # A second unknown column blocks too; later transactions with the first one do not.
        harness.tick(journal, 61)
    name, lost = harness.lost[0]
    assert lost.start == offset
    assert "transactions were abandoned" in lost.cause
    assert SEGMENT in lost.cause
    same = [(each, other) for each, other in harness.lost if other.cause == lost.cause]
    assert len(same) > 1
    assert {each for each, _ in same} == {name}
    assert len(harness.lost) > len(same)
    # A deleted partition and a deleted range name no column.
    assert len(harness.ids_of_events()) == 2


def test_journal_waits_for_first_schema_of_node(harness: Harness) -> None:
    harness.schema = None
    journal = harness.started()
    harness.tick(journal, 1000)
    assert "has not reported" in journal.view.blocked
    assert (harness.lost, harness.saved) == ([], JournalPosition())


def test_torn_end_is_read_once_complete(harness: Harness) -> None:
    torn = bytearray(journal_bytes())
    torn[WRITTEN_BYTES - 1] ^= 1
    journal = harness.started(bytes(torn))
    assert harness.saved.offset < WRITTEN_BYTES
    harness.write(SEGMENT, journal_bytes())
    harness.tick(journal)
    assert (harness.saved.offset, harness.lost) == (WRITTEN_BYTES, [])


@pytest.mark.parametrize("fail", ["save", "write"])
def test_save_or_write_error_is_reported_and_retried(
    harness: Harness, fail: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device", str(path))

    if fail == "save":
        harness.save_error = "The offsets cannot be saved."
    else:
        monkeypatch.setattr("agent.accord.segments.replace_synced", full)
    journal = harness.started()
    assert journal.view.error
    harness.save_error = ""
    monkeypatch.undo()
    harness.tick(journal)
    assert (journal.view.error, len(harness.ids_of_events())) == ("", EVENTS)


def test_missing_directory_and_unsupported_version_are_reported(harness: Harness) -> None:
    harness.directory.rmdir()
    journal = harness.journal()
    harness.tick(journal)
    assert str(harness.directory) in journal.view.error
    harness.directory.mkdir()
    harness.write("log-5-1-1-2.data", b"")
    harness.tick(journal)
    assert "cannot read" in journal.view.error
