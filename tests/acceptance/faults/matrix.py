"""The figures of docs/evidence/faults.md, written from the last run of the tests of the matrix.

The page states what the agent does in each situation; a test names the row that it proves.
"""

import importlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.acceptance.faults.situation import MARKER

_HERE = Path(__file__).parent
PAGE = _HERE.parents[2] / "docs" / "evidence" / "faults.md"
RESULTS = _HERE / "results.json"
_COUNTS = ("expected", "delivered", "lost", "invented", "repeated", "recorded")
_RESOURCES = ("descriptors", "threads", "quarantined_files")
_RESOURCES_TITLE = "## Resources"
_STATED_CELLS = 4
"""Cells of a row: the situation, the agent, `/health`, the arrivals."""

Results = Mapping[str, Mapping[str, Any]]


def proofs() -> Iterator[tuple[str, str]]:
    """Name of each situation with the file of its test."""
    for path in sorted((*_HERE.glob("test_*.py"), *_HERE.glob("slow_*.py"))):
        module = importlib.import_module(f"{__package__}.{path.stem}")
        for value in vars(module).values():
            if getattr(value, "__module__", None) != module.__name__:
                continue
            for mark in getattr(value, "pytestmark", ()):
                if mark.name == MARKER:
                    yield mark.args[0], path.name


def rows(text: str) -> Iterator[list[str]]:
    """Cells of all rows of the page that state a situation."""
    for line in text.partition(_RESOURCES_TITLE)[0].splitlines():
        cells = _cells(line)
        if len(cells) > _STATED_CELLS and cells[-1].startswith("`"):
            yield cells


def page(text: str) -> str:
    """The page with the current figures and tests."""
    results: Results = json.loads(RESULTS.read_text())
    tests = dict(proofs())
    stated, title, resources = text.partition(_RESOURCES_TITLE)
    named = {cells[0]: cells for cells in rows(text)}
    lines = []
    for line in stated.splitlines():
        cells = named.get(_cells(line)[0])
        lines.append(line if cells is None else _row(cells, results, tests))
    head = resources[: resources.index("---: | ---: | ---: | ---: | --- |\n")]
    measured = "".join(
        _resources(name, results[name]["growth"], tests[name])
        for name in named
        if "growth" in results.get(name, {})
    )
    return "\n".join([*lines, title]) + f"{head}---: | ---: | ---: | ---: | --- |\n{measured}"


def _row(cells: list[str], results: Results, tests: Mapping[str, str]) -> str:
    found = results.get(cells[0])
    figures = ["–" if found is None else f"{found[name]:,}" for name in _COUNTS]
    return f"| {' | '.join((*cells[:_STATED_CELLS], *figures, f'`{tests[cells[0]]}`'))} |"


def _resources(name: str, growth: Mapping[str, Mapping[str, int]], test: str) -> str:
    first, last = growth["first"], growth["last"]
    cells = [f"{first['resident_bytes'] >> 20} → {last['resident_bytes'] >> 20}"]
    cells += [f"{first[each]} → {last[each]}" for each in _RESOURCES]
    return f"| {' | '.join((name, *cells, f'`{test}`'))} |\n"


def _cells(line: str) -> list[str]:
    return line.removeprefix("| ").removesuffix(" |").split(" | ")


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
