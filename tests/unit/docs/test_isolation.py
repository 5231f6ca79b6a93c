"""The page of faults has a row for each kind of fault that the code distinguishes."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from agent.snapshot.errors import REASONS
from mongo_agent.server.errors import Failure
from mongo_agent.snapshot.read_failures import ReadFailure
from sidecar.status.facts import TOPICS

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs/reference/isolation.md"
RECORD_ERROR = re.compile(r"pub\(crate\) enum RecordError \{(.*?)\n\}", re.DOTALL)
JOBS_OF_ONE_TABLE = "`rebuild` and `compare` read one table in each run."


def record_errors() -> list[str]:
    """The names of the variants of `RecordError`."""
    found = RECORD_ERROR.search((ROOT / "commitlog/events/src/record_error.rs").read_text())
    assert found is not None
    return re.findall(r"^    ([A-Z]\w+)", found[1], re.MULTILINE)


KINDS: dict[str, Iterable[str]] = {
    "Cassandra agent, stream": record_errors(),
    "Cassandra agent, snapshot": [reason.name for reason in REASONS.values()],
    "MongoDB agent, stream": [each.value for each in Failure],
    "MongoDB agent, snapshot": [each.value for each in ReadFailure],
    "Both agents, Kafka": TOPICS,
    "Spark jobs": [path.parent.name for path in ROOT.glob("spark_jobs/*/__main__.py")],
}


def sections() -> dict[str, str]:
    parts = PAGE.read_text().split("\n## ")[1:]
    return {title: text for title, _, text in (part.partition("\n") for part in parts)}


def test_every_program_has_a_section() -> None:
    assert sections().keys() == KINDS.keys()


@pytest.mark.parametrize("program", KINDS)
def test_every_kind_of_fault_has_a_row(program: str) -> None:
    text = sections()[program]
    assert not [kind for kind in KINDS[program] if f"`{kind}`" not in text]


@pytest.mark.parametrize("program", KINDS)
def test_every_fault_row_references_its_test(program: str) -> None:
    rows = [line for line in sections()[program].splitlines() if line.startswith("| ")][2:]
    assert rows
    for row in rows:
        assert re.search(r"\| `tests/[\w/]+\.py::test_\w+` \|$", row), row
