"""The map of the code, `docs/design.md`, names every module, and only modules that exist."""

import re
from pathlib import Path

import pytest

from tests.support.checks.documentation import DOCS, REPOSITORY

DESIGN = (DOCS / "design.md").read_text(encoding="utf-8")
# Where the map lists the modules of a room: the text before its table.
TABLES = {
    "commitlog/core/src": "\n### 3.1 ",
    "commitlog/events/src": "\n| module of `commitlog/events`",
    "mongo_agent/encoder/src": "\n| module of `mongo_agent/encoder`",
    "sidecar": "\n### 3.3 ",
    "agent": "\n### 3.4 ",
    "spark_jobs": "\n### 3.5 ",
    "mongo_agent": "\n### 3.6 ",
}
# Crates' roots, and folders that the map lists as a room of their own.
OTHERS = {"lib", "error", "encoder"}
_NAME = re.compile(r"`([^`]+)`")


def rows_after(start: str) -> list[list[str]]:
    """The cells of the first table after `start`, without its head."""
    lines = DESIGN.split(start, 1)[1].splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("| ---")) + 1
    rows = []
    for line in lines[first:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def modules_named(start: str) -> list[str]:
    return [name.rstrip("/") for row in rows_after(start) for name in _NAME.findall(row[0])]


def exists(path: Path) -> bool:
    return any(path.with_name(path.name + end).exists() for end in ("", ".py", ".rs"))


@pytest.mark.parametrize("room", TABLES)
def test_the_map_has_every_module(room: str) -> None:
    """And only modules that exist."""
    names = modules_named(TABLES[room])
    assert [name for name in names if not exists(REPOSITORY / room / name)] == []
    modules = {
        path.stem
        for path in (REPOSITORY / room).iterdir()
        if path.suffix in (".py", ".rs") or any(path.glob("*.*"))
        if not path.name.startswith("_")
    }
    assert modules - {name.split("/")[0] for name in names} - OTHERS == set()


def test_every_task_begins_at_code_that_exists() -> None:
    paths = [
        name
        for _, *cells in (*rows_after("\n## 6. "), *rows_after("\n### Twenty tasks"))
        for cell in cells
        for name in _NAME.findall(cell)
        if "/" in name and " " not in name
    ]
    assert [path for path in paths if not exists(REPOSITORY / path)] == []
