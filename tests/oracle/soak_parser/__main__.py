"""`make soak-parser`: random workloads on real nodes, read by every reader, compared in everything.

Prints a line a node and a table at the end; exit code 1 when a workload differs, which is kept.
`--node 5.0.9:plain --seed N --workloads 1` runs a single one again.
"""

import secrets
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from tests.oracle.soak_parser.content import KINDS
from tests.oracle.soak_parser.nodes import DEFAULT_NODES, NODE_FORM, NodeKind
from tests.oracle.soak_parser.rounds import Totals, recorder_of, run_round
from tests.support.servers.cache import cache_directory
from tests.support.servers.cassandra import CassandraNode

_ROUND = 10
"""Workloads between two starts of the Java program."""
_WIDTH = 140
"""Columns of the table, in a file too."""


@click.command()
@click.option("--workloads", default=1000, help="In all, in equal parts on the nodes.")
@click.option("--minutes", type=float, help="Begin no round after that.")
@click.option("--seed", type=int, help="Of the first workload; the others count on from it.")
@click.option(
    "--node",
    "labels",
    multiple=True,
    help=f"{NODE_FORM}; several times; by default each of the releases, plain and LZ4.",
)
@click.option("--kept", type=Path, default=Path("soak-parser"), help="Where failures are kept.")
def main(
    workloads: int, minutes: float | None, seed: int | None, labels: tuple[str, ...], kept: Path
) -> None:
    """Compare the parser with Cassandra's own reader over random workloads."""
    try:
        nodes = tuple(NodeKind(label) for label in labels) or DEFAULT_NODES
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    first = secrets.randbits(30) if seed is None else seed
    end_s = time.monotonic() + minutes * 60 if minutes else None
    console = Console(highlight=False)
    console.width = max(console.width, _WIDTH)
    console.print(f"Seed {first}, {workloads} workloads on {len(nodes)} nodes.")
    totals: dict[str, Totals] = {}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console) as progress:
        task = progress.add_task("", total=workloads)
        for number, kind in enumerate(nodes):
            seeds = range(
                first + workloads * number // len(nodes),
                first + workloads * (number + 1) // len(nodes),
            )
            if not seeds or (end_s is not None and time.monotonic() > end_s):
                continue
            progress.update(task, description=kind.label)
            totals[kind.label] = Totals()
            _soak(kind, seeds, kept.resolve(), totals[kind.label], end_s, progress, console)
    console.print(_summary(totals))
    _print_content(console, list(totals.values()))
    if any(each.failures or not each.workloads for each in totals.values()):
        raise SystemExit(1)


def _soak(
    kind: NodeKind,
    seeds: Sequence[int],
    kept: Path,
    totals: Totals,
    end_s: float | None,
    progress: Progress,
    console: Console,
) -> None:
    # In the cache folder, since the temporary one may be in memory.
    with tempfile.TemporaryDirectory(prefix="soak-", dir=cache_directory()) as scratch:
        directory, settings = Path(scratch) / "node", kind.settings(Path(scratch))
        with CassandraNode(directory, version=kind.version, settings=settings) as node:
            recorder = recorder_of(node)
            for start in range(0, len(seeds), _ROUND):
                if end_s is not None and time.monotonic() > end_s:
                    break
                before = len(totals.failures)
                chosen = seeds[start : start + _ROUND]
                run_round(
                    recorder,
                    kind,
                    chosen,
                    kept,
                    totals,
                    lambda seed: progress.update(progress.task_ids[0], advance=1),
                )
                console.print(
                    f"{kind.label}: seeds {chosen[0]} to {chosen[-1]}, "
                    f"{totals.content['updates']:,} updates so far, "
                    f"{len(totals.failures)} differ, {totals.unfinished.total()} not finished",
                    soft_wrap=True,
                )
                for failure in totals.failures[before:]:
                    console.print(
                        f"  seed {failure.seed}: {failure.problems[0][:400]}\n  kept in "
                        f"{failure.folder}; again: make soak-parser ARGS='--node {kind.label} "
                        f"--seed {failure.seed} --workloads 1'",
                        soft_wrap=True,
                        markup=False,
                    )


def _summary(totals: dict[str, Totals]) -> Table:
    table = Table(title="the parser, the plain reader and events against Cassandra's own reader")
    for column in ("node", "workloads", "statements", "refused", "segments", "updates", "cells"):
        table.add_column(column, justify="left" if column == "node" else "right", no_wrap=True)
    table.add_column("events", justify="right", no_wrap=True)
    table.add_column("differ", justify="right", no_wrap=True)
    table.add_column("not finished", justify="right", no_wrap=True)

    def row(name: str, parts: Sequence[Totals]) -> None:
        numbers = (
            sum(each.workloads for each in parts),
            sum(each.accepted for each in parts),
            sum(each.refused.total() for each in parts),
            sum(each.segments for each in parts),
            *(sum(each.content[k] for each in parts) for k in ("updates", "cells", "events")),
            sum(len(each.failures) for each in parts),
            sum(each.unfinished.total() for each in parts),
        )
        table.add_row(name, *(f"{number:,}" for number in numbers))

    for label, each in totals.items():
        row(label, [each])
    table.add_section()
    row("all", list(totals.values()))
    return table


def _print_content(console: Console, totals: Sequence[Totals]) -> None:
    content = [f"{kind} {sum(each.content[kind] for each in totals):,}" for kind in KINDS]
    console.print("In the log: " + ", ".join(content) + ".", soft_wrap=True)
    refused = sum((each.refused for each in totals), start=Counter[str]())
    unfinished = sum((each.unfinished for each in totals), start=Counter[str]())
    for reason, count in unfinished.items():
        console.print(f"  not finished {count:,}: {reason}", soft_wrap=True, markup=False)
    for reason, count in refused.most_common(12):
        console.print(f"  refused {count:,}: {reason}", soft_wrap=True, markup=False)


if __name__ == "__main__":
    main()
