"""Commits read from files of the Delta log."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.reconcile.store.commits import (
    Commit,
    largest_offsets,
    offsets_of_batch,
    read_commit,
    user_metadata,
)


def added(table: str, rows: int, *, is_change: bool = True, least: str = "") -> dict[str, Any]:
    stats = json.dumps({"numRecords": rows, "minValues": {"v": least}}, ensure_ascii=False)
    values = {"table": table, "bucket": "0", "level": "events"}
    return {"add": {"partitionValues": values, "dataChange": is_change, "stats": stats}}


def log_file(*actions: dict[str, Any]) -> str:
    return "".join(json.dumps(action, ensure_ascii=False) + "\n" for action in actions)


def test_append_commit_has_rows_and_offsets() -> None:
    metadata = user_metadata("append", {"shop.a": {0: 7, 12: 9}})
    text = log_file(
        {"commitInfo": {"userMetadata": metadata}}, added("t", 2), added("u", 5), added("t", 1)
    )
    expected = Commit(4, "append", {"t": 3, "u": 5}, {"shop.a": {0: 7, 12: 9}})
    assert read_commit(4, text) == expected


@given(least=st.text(st.characters(codec="utf-8"), max_size=32) | st.sampled_from("\x85\u2028"))
def test_statistics_of_any_values_leave_the_commit_readable(least: str) -> None:
    """Delta writes separators of lines in values as they are."""
    assert read_commit(4, log_file(added("t", 2, least=least), added("t", 1))).rows == {"t": 3}


def test_compaction_commit_adds_no_rows() -> None:
    text = log_file(
        {"commitInfo": {"userMetadata": user_metadata("compact")}},
        added("t", 2, is_change=False),
        {"remove": {"dataChange": False, "path": "a"}},
    )
    assert read_commit(5, text) == Commit(5, "compact")


@pytest.mark.parametrize("metadata", [None, "no JSON", "[]", '{"kind": "vacuum"}'])
def test_commit_of_another_program_has_kind_other(metadata: str | None) -> None:
    assert read_commit(6, log_file({"commitInfo": {"userMetadata": metadata}})).kind == "other"


def test_offset_log_entry_yields_end_offsets() -> None:
    entry = 'v1\n{"batchWatermarkMs":0}\n{"shop.a":{"0":7,"12":9}}'
    assert offsets_of_batch(entry) == {"shop.a": {0: 7, 12: 9}}


@pytest.mark.parametrize("entry", ["v1", 'v1\n{}\n{"logOffset":0}', "v1\n{}\n0", "v1\n{}\n-"])
def test_offset_log_entry_of_another_source_is_empty(entry: str) -> None:
    assert offsets_of_batch(entry) == {}


def test_largest_offsets_of_commits_count() -> None:
    commits = [{"a": {0: 5, 1: 2}}, {}, {"a": {0: 4}, "b": {0: 1}}]
    assert largest_offsets(commits) == {"a": {0: 5, 1: 2}, "b": {0: 1}}
