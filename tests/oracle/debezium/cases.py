"""All cases, in the order of the run."""

from tests.oracle.debezium.case import KEYSPACE, POISON_KEYSPACE, Case, Chapter, written_chapter
from tests.oracle.debezium.poison import DEADLY, POISON, VECTORS
from tests.oracle.debezium.ranges import RANGES
from tests.oracle.debezium.values import VALUES
from tests.support.workloads.scenario import create_keyspace

ROWS = written_chapter("Rows, deletions, batches, times", "rows")
MARKS = "peer_marks.marks"
"""A row of this table precedes the first mutation of each case, and one follows the last."""

FIRST_SCHEMA = (
    *(create_keyspace(name) for name in (KEYSPACE, POISON_KEYSPACE, "peer_marks")),
    f"CREATE TABLE {MARKS} (n int PRIMARY KEY) WITH cdc = true",
)

RUNS: tuple[tuple[Chapter, ...], ...] = (
    (ROWS, VALUES, RANGES, POISON),
    *((chapter,) for chapter in DEADLY),
    (VECTORS,),
)
"""The connector is restarted for each run, whose schema is created before."""

CHAPTERS = tuple(chapter for run in RUNS for chapter in run)
CASES: tuple[Case, ...] = tuple(case for chapter in CHAPTERS for case in chapter.cases)
