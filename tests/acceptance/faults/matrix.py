"""docs/evidence/faults.md, written from the tests of the matrix and their last figures."""

import ast
import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.acceptance.faults.situation import AREAS, MARKER, Situation

_HERE = Path(__file__).parent
PAGE = _HERE.parents[2] / "docs" / "evidence" / "faults.md"
RESULTS = _HERE / "results.json"

Results = dict[str, dict[str, Any]]

_INTRODUCTION = """\
# Faults

This page lists faults around the agent and its behaviour. Each row is one test in
`tests/acceptance/faults`. The test runs the real agent and compares the arrived events with
Cassandra's own commit-log reader. Rows without figures verify only the reported status.
`make test` runs the tests in `test_*.py`; `make faults` runs all tests and writes this page.

The figures count events by id:

* *expected*: read by Cassandra's reader
* *delivered*, *lost*
* *invented*: delivered and not expected
* *repeated*: arrivals after the first of an event
* *on record*: not delivered; the quarantine lists range and reason
"""

_RESOURCES = """\
## Resources

Resources of the agent's process, sampled every 0.1 s: the largest of the first third of the run →
the largest of the last third.

| situation | resident memory, MiB | descriptors | threads | quarantined files | test |
| --- | ---: | ---: | ---: | ---: | --- |
"""


def rows() -> Iterator[tuple[Situation, str]]:
    """Each situation with the path of its test below `tests/acceptance/faults`."""
    for path in sorted((*_HERE.glob("test_*.py"), *_HERE.glob("slow_*.py"))):
        module = importlib.import_module(f"{__package__}.{path.stem}")
        for name in _functions(path):
            marks = getattr(getattr(module, name), "pytestmark", ())
            for mark in marks:
                if mark.name == MARKER:
                    yield mark.args[0], path.name


def page() -> str:
    """The whole page."""
    results: Results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    found = list(rows())
    parts = [_INTRODUCTION]
    for area, title in AREAS.items():
        of_area = [(row, test) for row, test in found if row.area == area]
        if of_area:
            parts.append(f"## {title}\n\n{_table(of_area, results)}")
    if measured := "".join(_resources(found, results)):
        parts.append(_RESOURCES + measured)
    return "\n".join(parts)


def _resources(found: list[tuple[Situation, str]], results: Results) -> Iterator[str]:
    for row, test in found:
        growth = results.get(row.name, {}).get("growth")
        if growth is None:
            continue
        first, last = growth["first"], growth["last"]
        cells = [f"{first['resident_bytes'] >> 20} → {last['resident_bytes'] >> 20}"]
        for name in ("descriptors", "threads", "quarantined_files"):
            cells.append(f"{first[name]} → {last[name]}")
        yield f"| {' | '.join((row.name, *cells, f'`{test}`'))} |\n"


def _table(found: list[tuple[Situation, str]], results: Results) -> str:
    lines = [
        "| situation | the agent | `/health` | what arrives | expected | delivered | lost "
        "| invented | repeated | on record | test |",
        "| --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for row, test in found:
        figures = results.get(row.name, {})
        names = ("expected", "delivered", "lost", "invented", "repeated", "recorded")
        numbers = [f"{figures[name]:,}" if figures else "–" for name in names]
        cells = (row.name, row.action, row.health, row.arrival, *numbers, f"`{test}`")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _functions(path: Path) -> list[str]:
    tree = ast.parse(path.read_text())
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]


if __name__ == "__main__":
    PAGE.write_text(page())
