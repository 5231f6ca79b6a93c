"""Positions in the metadata of commits."""

from dataclasses import replace

import pytest
from pyspark.sql.types import IntegerType, LongType

from spark_jobs.tables.commit_position import (
    CommitPosition,
    Part,
    Progress,
    fingerprints,
    progress,
    read_position,
    replaced_columns,
)

FIRST = CommitPosition("store", "table", 7, 1_700_000_000, {"v": "12"}, {"topic": {"0": 5}})
SECOND = replace(FIRST, store_version=8)


@pytest.mark.parametrize("part", Part)
def test_commit_position_round_trips(part: Part) -> None:
    position = FIRST.as_part(part)
    assert read_position(position.to_json()) == position


@pytest.mark.parametrize("text", [None, "", "a comment", "[]", "{}", '{"part": "merge"}'])
def test_metadata_of_another_program_yields_no_position(text: str | None) -> None:
    assert read_position(text) is None


def test_commit_numbers_grow_with_each_commit() -> None:
    commits = [
        FIRST.as_part(Part.MERGE),
        FIRST.as_part(Part.INSERT),
        replace(FIRST, second=FIRST.second + 1),
        SECOND.as_part(Part.MERGE),
        SECOND,
        replace(SECOND, store_version=1 << 28, second=1 << 32),
    ]
    numbers = [commit.number for commit in commits]
    assert numbers == sorted(set(numbers))
    assert numbers[-1] < 1 << 63


def test_progress_is_the_newest_complete_batch() -> None:
    assert progress([]) == Progress()
    assert progress([None, FIRST]) == Progress(FIRST)
    inserted = FIRST.as_part(Part.INSERT)
    assert progress([inserted, FIRST.as_part(Part.MERGE)]) == Progress(inserted)


def test_progress_includes_batch_without_its_inserts() -> None:
    merged = SECOND.as_part(Part.MERGE)
    # Maintenance repeats the position.
    assert progress([merged, None, merged, FIRST]) == Progress(FIRST, merged)
    assert progress([merged, FIRST]).merged == merged


def test_column_fingerprint_changes_with_type_and_drop() -> None:
    known = fingerprints({"v": IntegerType()}, {})
    assert fingerprints({"v": IntegerType()}, {"w": 4}) == known
    assert fingerprints({"v": LongType()}, {}) != known
    assert fingerprints({"v": IntegerType()}, {"v": 4}) != known


def test_column_dropped_and_retyped_is_replaced() -> None:
    known = fingerprints({"v": IntegerType()}, {"v": 2})
    for kind, dropped_us, is_replaced in (
        (IntegerType(), 2, False),
        (IntegerType(), 4, False),
        (LongType(), 2, False),
        (LongType(), 4, True),
    ):
        now = fingerprints({"v": kind}, {"v": dropped_us})
        assert replaced_columns(known, now) == ({"v"} if is_replaced else frozenset())
