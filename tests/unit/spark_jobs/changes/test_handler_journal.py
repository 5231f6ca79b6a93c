"""The journal of batches after restarts and interrupted writes."""

from pathlib import Path

from pyspark.sql import SparkSession

from spark_jobs.changes.handler import BatchJournal, BegunBatch
from spark_jobs.follow.plan import Position
from spark_jobs.storage import Folder

FIRST, SECOND = Position(1, 100), Position(2, 110)


def test_journal_returns_begun_batch_after_restart(spark: SparkSession, tmp_path: Path) -> None:
    folder = Folder(spark, str(tmp_path))
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


def test_batch_may_begin_after_position_of_last_batch(spark: SparkSession, tmp_path: Path) -> None:
    journal = BatchJournal(Folder(spark, str(tmp_path)))
    journal.skip_to(FIRST)
    assert journal.begin(SECOND, Position(3, 120), {}).before == SECOND
