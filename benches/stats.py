"""Statistics with their spread, tables on stdout, results as JSON."""

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from benches.machine import Machine
from benches.paths import bench_directory


@dataclass(frozen=True)
class Spread:
    """Median and range of several measurements."""

    median: float
    lowest: float
    highest: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        return cls(statistics.median(values), min(values), max(values))

    def text(self, digits: int = 0, scale: float = 1.0) -> str:
        """`12 (10–15)`, each divided by `scale`."""
        numbers = (self.median, self.lowest, self.highest)
        median, lowest, highest = (f"{number / scale:,.{digits}f}" for number in numbers)
        return f"{median} ({lowest}–{highest})"


def write_result(name: str, machine: Machine, is_quick: bool, result: dict[str, Any]) -> Path:
    """Write a result to `.cache/bench/<name>.json`; a quick run never replaces a full one."""
    file = bench_directory() / f"{name}{'-quick' if is_quick else ''}.json"
    document = {"machine": asdict(machine), "quick": is_quick, **result}
    file.write_text(json.dumps(document, indent=2, default=asdict) + "\n")
    return file


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; the first column is text, the others are numbers."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index == 0 else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    Console(width=None if Console().is_terminal else 200).print(table)
