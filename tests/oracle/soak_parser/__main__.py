"""`make soak-parser`: random workloads on real nodes; all readers must agree.

Prints one line per round and node, and the content of the log. If a workload differs, it exits with
code 1 and keeps the workload. `--node 5.0.9:plain --seed N --workloads 1` repeats a single one.
"""

import secrets
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from tests.oracle.soak_parser.comparison import KINDS
from tests.oracle.soak_parser.nodes import DEFAULT_NODES, NODE_FORM, NodeKind
from tests.oracle.soak_parser.recording import Recorder
from tests.oracle.soak_parser.rounds import Totals, run_round
from tests.support.servers.cache import cache_directory
from tests.support.servers.cassandra import CassandraNode

_ROUND = 10
"""Workloads between two starts of the Java program."""


@click.command()
@click.option("--workloads", default=1000, help="In all, in equal parts on the nodes.")
@click.option("--minutes", default=float("inf"), help="Begin no round after that.")
@click.option("--seed", type=int, help="Of the first workload; the others count on from it.")
@click.option(
    "--node",
    "labels",
    multiple=True,
    help=f"{NODE_FORM}; several times; by default each of the releases, plain and LZ4.",
)
@click.option("--kept", type=Path, default=Path("soak-parser"), help="Where failures are kept.")
def main(
    workloads: int, minutes: float, seed: int | None, labels: tuple[str, ...], kept: Path
) -> None:
    """Compare the parser with Cassandra's own reader on random workloads."""
    try:
        nodes = tuple(NodeKind(label) for label in labels) or DEFAULT_NODES
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    first = secrets.randbits(30) if seed is None else seed
    end_s = time.monotonic() + minutes * 60
    click.echo(f"Seed {first}, {workloads} workloads on {len(nodes)} nodes.")
    totals: dict[str, Totals] = {}
    for number, kind in enumerate(nodes):
        starts = (workloads * each // len(nodes) for each in (number, number + 1))
        seeds = range(*(first + start for start in starts))
        if seeds and time.monotonic() < end_s:
            totals[kind.label] = Totals()
            _soak(kind, seeds, kept.resolve(), totals[kind.label], end_s)
    for label, each in totals.items():
        click.echo(f"{label}: {_summary([each])}")
    parts = list(totals.values())
    content = ", ".join(f"{kind} {sum(each.content[kind] for each in parts):,}" for kind in KINDS)
    click.echo(f"all: {_summary(parts)}\nIn the log: {content}.")
    for name in ("unfinished", "refused"):
        reasons = sum((getattr(each, name) for each in parts), start=Counter[str]())
        for reason, count in reasons.most_common(12):
            click.echo(f"  {name} {count:,}: {reason}")
    if any(each.failures or not each.workloads for each in parts):
        raise SystemExit(1)


def _soak(kind: NodeKind, seeds: Sequence[int], kept: Path, totals: Totals, end_s: float) -> None:
    # In the cache folder, because the temporary one may be in memory.
    with tempfile.TemporaryDirectory(prefix="soak-", dir=cache_directory()) as scratch:
        directory, settings = Path(scratch) / "node", kind.settings(Path(scratch))
        with CassandraNode(directory, version=kind.version, settings=settings) as node:
            recorder = Recorder(node)
            for start in range(0, len(seeds), _ROUND):
                if time.monotonic() > end_s:
                    break
                before = len(totals.failures)
                chosen = seeds[start : start + _ROUND]
                run_round(recorder, kind, chosen, kept, totals)
                click.echo(f"{kind.label}, seeds {chosen[0]} to {chosen[-1]}: {_summary([totals])}")
                for failure in totals.failures[before:]:
                    click.echo(
                        f"  seed {failure.seed}: {failure.problems[0][:400]}\n  kept in "
                        f"{failure.folder}; again: make soak-parser ARGS='--node {kind.label} "
                        f"--seed {failure.seed} --workloads 1'"
                    )


def _summary(parts: Sequence[Totals]) -> str:
    numbers = {
        "workloads": sum(each.workloads for each in parts),
        "statements": sum(each.accepted for each in parts),
        "refused": sum(each.refused.total() for each in parts),
        "segments": sum(each.segments for each in parts),
        **{k: sum(each.content[k] for each in parts) for k in ("updates", "cells", "events")},
        "differ": sum(len(each.failures) for each in parts),
        "not finished": sum(each.unfinished.total() for each in parts),
    }
    return ", ".join(f"{name} {number:,}" for name, number in numbers.items())


if __name__ == "__main__":
    main()
