"""The journal of batches over restarts and interrupted writes."""

from dataclasses import dataclass, field

from spark_jobs.changes.journal import BatchJournal, BegunBatch
from spark_jobs.follow.position import Position

FIRST, SECOND = Position(1, 100), Position(2, 110)


@dataclass
class MemoryFolder:
    """The files of a `Folder`."""

    files: dict[str, str] = field(default_factory=dict)

    def exists(self, name: str) -> bool:
        return name in self.files

    def read_text(self, name: str) -> str:
        return self.files[name]

    def write_text(self, name: str, text: str) -> None:
        self.files[name] = text


def test_a_restart_finds_the_begun_batch() -> None:
    folder = MemoryFolder()
    journal = BatchJournal(folder)
    assert (journal.position, journal.begun) == (None, None)
    begun = journal.begin(None, FIRST, {0: 5, 1: 0}, {"t": {3: 8}})
    assert begun == BegunBatch(1, None, FIRST, {0: 5, 1: 0}, {"t": {3: 8}})
    again = BatchJournal(folder)
    assert (again.position, again.begun) == (None, begun)
    again.finish(begun)
    assert (again.position, again.begun) == (FIRST, None)
    assert BatchJournal(folder).begin(FIRST, SECOND, {}).number == 2
    assert BatchJournal(folder).position == FIRST


def test_a_batch_may_begin_after_the_position_of_the_last_one() -> None:
    journal = BatchJournal(MemoryFolder())
    journal.skip_to(FIRST)
    assert journal.begin(SECOND, Position(3, 120), {}).before == SECOND
