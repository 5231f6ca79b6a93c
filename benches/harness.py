"""Shared parts of benchmarks: rounds, statistics, machine description, paths, a progress bar."""

import json
import os
import platform
import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from math import nan
from pathlib import Path
from typing import Any, TypeVar

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from tests.support.servers.cache import cache_directory


def bench_directory() -> Path:
    directory = cache_directory() / "bench"
    directory.mkdir(exist_ok=True)
    return directory


@contextmanager
def scratch_directory(name: str) -> Iterator[Path]:
    """Create a directory for one run, and remove it afterwards."""
    directory = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=bench_directory()))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@dataclass(frozen=True)
class Machine:
    """The machine at one moment. `load` is the one-minute load average."""

    at: str
    processor: str
    cores: int
    memory_gib: float
    system: str
    python: str
    load: float

    def sentence(self) -> str:
        return (
            f"{self.at}, {self.processor}, {self.cores} cores, {self.memory_gib:.0f} GiB, "
            f"{self.system}, Python {self.python}, load {self.load:.1f}"
        )


def machine() -> Machine:
    return Machine(
        at=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        processor=_processor(),
        cores=len(os.sched_getaffinity(0)),
        memory_gib=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30),
        system=f"Linux {platform.release()}",
        python=platform.python_version(),
        load=os.getloadavg()[0],
    )


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()


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
        """Ratios of measurements in the same round; `nan` if a short run has none."""
        pairs = zip(ones, others, strict=True)
        return cls.of(one / other if other else nan for one, other in pairs)

    def text(self, digits: int = 0, scale: float = 1.0) -> str:
        """`12 (10–15)`, each divided by `scale`."""
        numbers = (self.median, self.lowest, self.highest)
        median, lowest, highest = (f"{number / scale:,.{digits}f}" for number in numbers)
        return f"{median} ({lowest}–{highest})"


def write_result(name: str, machine: Machine, is_quick: bool, result: Result) -> Path:
    """Write a result to `.cache/bench/<name>.json`; quick runs never replace a full result."""
    file = bench_directory() / f"{name}{'-quick' if is_quick else ''}.json"
    document = {"machine": asdict(machine), "quick": is_quick, **result}
    file.write_text(json.dumps(document, indent=2, default=asdict) + "\n")
    return file


def read_result(name: str) -> dict[str, Any] | None:
    """The latest full result of a benchmark; None if there is none on this machine."""
    file = bench_directory() / f"{name}.json"
    return json.loads(file.read_text()) if file.exists() else None


def print_table(
    title: str, rows: Iterable[Row], columns: Mapping[str, Callable[[Row], str]]
) -> None:
    """Print a table. `columns` maps titles to functions that format a row; the first is a name."""
    print_texts(title, list(columns), [[text(row) for text in columns.values()] for row in rows])


def print_texts(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table of texts; all columns except the first are numbers."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index == 0 else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    Console(width=None if Console().is_terminal else 200).print(table)


@contextmanager
def progress_bar(what: str, steps: int | None = None) -> Iterator[Callable[[], None]]:
    """Yield a function that marks one step as done; `steps` is None if the number is unknown."""
    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bar:
        task = bar.add_task(what, total=steps)
        yield lambda: bar.advance(task)


Name = TypeVar("Name", bound=str)
Measured = TypeVar("Measured")


def run_rounds(
    title: str,
    names: Sequence[Name],
    measure: Callable[[Name, int], Measured],
    *,
    rounds: int,
    warm_up: int = 0,
) -> dict[Name, list[Measured]]:
    """Call `measure(name, number)` for each candidate, once per round.

    Returns each candidate's measurements, except for the first `warm_up` rounds.
    """
    seen: dict[Name, list[Measured]] = {name: [] for name in names}
    with progress_bar(title, len(names) * (warm_up + rounds)) as step:
        for number in range(warm_up + rounds):
            for name in names:
                measured = measure(name, number)
                if number >= warm_up:
                    seen[name].append(measured)
                step()
    return seen
