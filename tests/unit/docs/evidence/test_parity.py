"""docs/evidence/parity.md lists every feature once."""

import re
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[4]
PARITY = (REPOSITORY / "docs" / "evidence" / "parity.md").read_text(encoding="utf-8")
FEATURES = 116


def test_every_feature_has_one_row_and_a_state() -> None:
    rows = re.findall(r"^\| (\d+) \| [^|]+ \| (done|part|not) \| [^|]*\|$", PARITY, re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, FEATURES + 1))


def test_partial_rows_state_a_reason() -> None:
    rows = re.findall(r"^\| \d+ \| ([^|]+) \| (?:part|not) \| ([^|]*) \|$", PARITY, re.MULTILINE)
    assert [what for what, why in rows if len(why) < 5] == []
