"""The distance of a position from the start of the oplog, and its level."""

from pathlib import Path

import pytest

from mongo_agent.check.offsets import check_headroom
from mongo_agent.documents import ClusterTime
from sidecar.check.check import Level
from tests.support.mongodb.findings import texts
from tests.support.mongodb.properties import load

NOW = ClusterTime(2_000_000, 1)


@pytest.mark.parametrize(
    ("oldest_s", "position_s", "level", "part"),
    [
        (None, None, None, ""),
        (1_900_000, None, Level.OK, "covers 27.8 h."),
        (1_999_000, None, Level.WARNING, "A longer outage loses changes"),
        (1_900_000, 1_950_000, Level.OK, "13.9 h older than the stored offset"),
        (1_900_000, 1_900_050, Level.FAULT, "50 s older than the stored offset"),
        # A new oplog starts shortly before a current offset.
        (1_999_990, 1_999_995, Level.OK, "5 s older than the stored offset"),
        (1_900_000, 1_899_000, Level.FAULT, "the stored offset is 17 min older"),
    ],
)
def test_oplog_headroom_is_reported(
    tmp_path: Path, oldest_s: int | None, position_s: int | None, level: Level | None, part: str
) -> None:
    oldest = None if oldest_s is None else ClusterTime(oldest_s, 1)
    position = None if position_s is None else ClusterTime(position_s, 1)
    found = list(check_headroom(load(tmp_path), oldest, NOW, position))
    assert [each.level for each in found] == ([] if level is None else [level])
    assert level is None or part in texts(found, level)
