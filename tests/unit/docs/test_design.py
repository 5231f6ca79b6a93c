"""The code map lists every module, and only modules that exist."""

import re
from pathlib import Path

import pytest

from tests.support.checks.documentation import DOCS, REPOSITORY

PAGES = (DOCS / "design.md", *sorted((DOCS / "design").glob("*.md")))
MAX_WORDS = 1500
# Where the map lists the modules of a room: the page, and the text before its table.
TABLES = {
    "commitlog/core/src": ("design/commitlog.md", "\n## The parser"),
    "commitlog/events/src": ("design/commitlog.md", "\n## Events"),
    "mongo_agent/encoder/src": ("design/mongo-agent.md", "\n## The encoder"),
    "sidecar": ("design.md", "\n## 3. "),
    "agent": ("design/agent.md", "\n## Packages"),
    "spark_jobs": ("design/spark-jobs.md", "\n## Packages"),
    "mongo_agent": ("design/mongo-agent.md", "\n## The way of an event"),
}
# Roots of crates, and folders that the map lists as separate rooms.
OTHERS = {"arrow", "encoder", "error", "lib", "merge", "python"}
_NAME = re.compile(r"`([^`]+)`")


def rows_after(page: Path, start: str) -> list[list[str]]:
    """The cells of the first table after `start`, without the header row."""
    lines = page.read_text(encoding="utf-8").split(start, 1)[1].splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("| ---")) + 1
    rows = []
    for line in lines[first:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def modules_named(page: str, start: str) -> list[str]:
    rows = rows_after(DOCS / page, start)
    return [name.rstrip("/") for row in rows for name in _NAME.findall(row[0])]


def exists(path: Path) -> bool:
    return any(path.with_name(path.name + end).exists() for end in ("", ".py", ".rs"))


@pytest.mark.parametrize("room", TABLES)
def test_code_map_lists_exactly_existing_modules(room: str) -> None:
    names = modules_named(*TABLES[room])
    assert [name for name in names if not exists(REPOSITORY / room / name)] == []
    modules = {
        path.stem
        for path in (REPOSITORY / room).iterdir()
        if path.suffix in (".py", ".rs") or any(path.glob("*.*"))
        if not path.name.startswith("_")
    }
    assert modules - {name.split("/")[0] for name in names} - OTHERS == set()


def test_starting_points_of_tasks_exist() -> None:
    paths = [
        name
        for page in PAGES
        for _, *cells in rows_after(page, "Where to start\n")
        for cell in cells
        for name in _NAME.findall(cell)
        if "/" in name and " " not in name
    ]
    assert [path for path in paths if not exists(REPOSITORY / path)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_design_page_is_short(page: Path) -> None:
    assert len(page.read_text(encoding="utf-8").split()) <= MAX_WORDS
