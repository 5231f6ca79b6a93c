"""Statistics with their spread, tables on stdout, results as JSON."""

import json
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import nan
from pathlib import Path
from typing import Any, TypeVar

from rich import box
from rich.console import Console
from rich.table import Table

from benches.machine import Machine
from benches.paths import bench_directory

Row = TypeVar("Row")
Result = Mapping[str, Any]
"""What a benchmark returns: numbers, texts, dataclasses, and collections of them."""


@dataclass(frozen=True)
class Spread:
    """Median and range of several measurements."""

    median: float
    lowest: float
    highest: float

    @classmethod
    def of(cls, values: Iterable[float]) -> "Spread":
        found = list(values)
        return cls(statistics.median(found), min(found), max(found))

    @classmethod
    def of_ratios(cls, ones: Iterable[float], others: Iterable[float]) -> "Spread":
        """The ratios of measurements of the same round; `nan` where a short run has none."""
        pairs = zip(ones, others, strict=True)
        return cls.of(one / other if other else nan for one, other in pairs)

    def text(self, digits: int = 0, scale: float = 1.0) -> str:
        """`12 (10–15)`, each divided by `scale`."""
        numbers = (self.median, self.lowest, self.highest)
        median, lowest, highest = (f"{number / scale:,.{digits}f}" for number in numbers)
        return f"{median} ({lowest}–{highest})"


def write_result(name: str, machine: Machine, is_quick: bool, result: Result) -> Path:
    """Write a result to `.cache/bench/<name>.json`; a quick run never replaces a full one."""
    file = bench_directory() / f"{name}{'-quick' if is_quick else ''}.json"
    document = {"machine": asdict(machine), "quick": is_quick, **result}
    file.write_text(json.dumps(document, indent=2, default=asdict) + "\n")
    return file


def read_result(name: str) -> dict[str, Any] | None:
    """The last full result of a benchmark; None if it never ran on this machine."""
    file = bench_directory() / f"{name}.json"
    return json.loads(file.read_text()) if file.exists() else None


def print_table(
    title: str, rows: Iterable[Row], columns: Mapping[str, Callable[[Row], str]]
) -> None:
    """Print a table: a title for each column, and its text for a row; the first is a name."""
    print_texts(title, list(columns), [[text(row) for text in columns.values()] for row in rows])


def print_texts(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table of texts; all columns except the first are numbers."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index == 0 else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    Console(width=None if Console().is_terminal else 200).print(table)
