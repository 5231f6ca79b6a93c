"""`make fuzz`: the guided targets, ten minutes each, and every bit of a segment.

Prints a line a target and a table at the end; exit code 1 when something failed. An input that
fails a guided target is put into `fuzz-failures/`; `--target T --input FILE` runs it again.
"""

import time
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from tests.support.fuzz import every_bit, guided
from tests.support.fuzz.seeds import TARGETS as GUIDED

EVERY_BIT = "every-bit"
_WIDTH = 120
"""Columns of the table where no terminal says how many there are."""


@dataclass(frozen=True, slots=True)
class Line:
    """The summary of a target."""

    target: str
    executions: int
    seconds: float
    reached: str
    failures: int


@click.command()
@click.option("--minutes", default=10.0, help="For each target.")
@click.option(
    "--target",
    "names",
    multiple=True,
    type=click.Choice([*GUIDED, EVERY_BIT]),
    help="Several times; by default all guided ones and every-bit.",
)
@click.option("--keep", is_flag=True, help="Keep what covers most as the corpus (guided).")
@click.option(
    "--input", "file", type=click.Path(exists=True, path_type=Path), help="Run one (guided)."
)
def main(minutes: float, names: tuple[str, ...], keep: bool, file: Path | None) -> None:
    """Feed the parser what no node wrote."""
    console = Console(highlight=False, soft_wrap=True)
    if not console.is_terminal:
        console.width = _WIDTH
    chosen = names or (*GUIDED, EVERY_BIT)
    try:
        programs = guided.build() if any(name in GUIDED for name in chosen) else None
        flipper = every_bit.build() if EVERY_BIT in chosen else None
        if file is not None:
            if programs is None or len(names) != 1:
                raise click.UsageError("--input needs one --target, which is a guided one.")
            if said := guided.run_input(programs / names[0], file):
                raise click.ClickException(said)
            console.print(f"{names[0]} takes {file}.")
            return
        lines = []
        with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
            for name in chosen:
                if name in GUIDED and programs is not None:
                    lines.append(_guided(programs / name, name, minutes, keep, bar))
                elif flipper is not None:
                    lines += [_every_bit(flipper, framing, bar) for framing in every_bit.FRAMINGS]
    except guided.FuzzError as error:
        raise click.ClickException(str(error)) from error
    console.print(_table(lines))
    if any(line.failures for line in lines):
        raise SystemExit(1)


def _guided(program: Path, name: str, minutes: float, keep: bool, bar: Progress) -> Line:
    task = bar.add_task(name, total=minutes * 60)

    def show(seconds: float, status: guided.Status) -> None:
        said = f"{name}: {status.executions:,} executions, {status.edges:,} edges"
        bar.update(task, completed=seconds, description=said)

    outcome = guided.fuzz(program, name, seconds=int(minutes * 60), keep=keep, show=show)
    bar.remove_task(task)
    status = outcome.status
    kept = "" if outcome.kept is None else f", {outcome.kept:,} kept"
    reached = f"{status.edges:,} edges, {status.inputs:,} inputs{kept}, {outcome.peak_mib} MiB"
    if outcome.failure:
        bar.console.print(
            f"{name} failed:\n{outcome.failure}\nThe input is in {guided.FAILURES}; again: "
            f'make fuzz ARGS="--target {name} --input FILE"',
            markup=False,
        )
    line = Line(name, status.executions, outcome.seconds, reached, int(bool(outcome.failure)))
    return _told(line, bar)


def _every_bit(program: Path, framing: str, bar: Progress) -> Line:
    name = f"{EVERY_BIT}, {framing}"
    task = bar.add_task(name)
    start_s = time.monotonic()
    flipped = every_bit.flip_every_bit(
        program, framing, lambda done, total: bar.update(task, completed=done, total=total)
    )
    bar.remove_task(task)
    for failure in flipped.failures[:10]:
        bar.console.print(failure, markup=False)
    seconds = time.monotonic() - start_s
    reached = f"{flipped.bits / 8192:.1f} KiB"
    return _told(Line(name, flipped.bits, seconds, reached, len(flipped.failures)), bar)


def _told(line: Line, bar: Progress) -> Line:
    end = f"{line.failures} failed" if line.failures else "none failed"
    bar.console.print(
        f"{line.target}: {line.executions:,} executions in {line.seconds:.0f} s, "
        f"{line.reached}, {end}"
    )
    return line


def _table(lines: list[Line]) -> Table:
    table = Table()
    for column in ("target", "executions", "seconds", "a second", "reached", "failures"):
        is_text = column in ("target", "reached")
        table.add_column(column, justify="left" if is_text else "right", no_wrap=True)
    for line in lines:
        table.add_row(
            line.target,
            f"{line.executions:,}",
            f"{line.seconds:,.0f}",
            f"{line.executions / max(line.seconds, 0.001):,.0f}",
            line.reached,
            str(line.failures),
        )
    return table


if __name__ == "__main__":
    main()
