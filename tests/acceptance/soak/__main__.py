"""Rounds of the kill test, one after the other over the same node, broker and directories.

Without `--node` the time is divided among Cassandra 5.0.9 with a plain log, 5.0.9 with LZ4 and
4.1.10. Prints one line per round and node, and the number of SIGKILLs. If a round fails, it exits
with code 1 and keeps all files.
"""

import secrets
import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random

import click

from tests.acceptance.kill.faults import random_plan
from tests.acceptance.kill.harness import ClusterHarness, own_servers
from tests.acceptance.kill.round import Report, run_round
from tests.support.servers.cassandra_settings import VERSIONS
from tests.support.servers.errors import HarnessError

_NODES = [f"{version}{end}" for version in VERSIONS[:4] for end in ("", ":LZ4Compressor")]
_SUMS = ("seconds", "events", "repeats", "tables", "rows")


@click.command(help=__doc__)
@click.option("--minutes", default=30.0, help="Begin no round after that.")
@click.option("--seed", type=int, help="Of everything.")
@click.option("--faults", default=8, help="In each round.")
@click.option(
    "--node",
    "nodes",
    multiple=True,
    type=click.Choice(_NODES),
    default=("5.0.9", "5.0.9:LZ4Compressor", "4.1.10"),
)
@click.option("--directory", type=Path, help="Where to work; a temporary one otherwise.")
def main(
    minutes: float, seed: int | None, faults: int, nodes: tuple[str, ...], directory: Path | None
) -> None:
    first = secrets.randbits(32) if seed is None else seed
    folder = Path(tempfile.mkdtemp(prefix="soak-", dir=directory))
    click.echo(f"Seed {first}, {minutes:g} minutes over {', '.join(nodes)}; files are in {folder}.")
    kills: Counter[str] = Counter()
    for number, node in enumerate(nodes):
        reports: list[Report] = []
        own = folder / str(number)
        own.mkdir()
        end_s = time.monotonic() + minutes * 60 / len(nodes)
        try:
            _soak(node, own, Random(first + number), end_s, faults, reports, kills)
        except (HarnessError, AssertionError, KeyboardInterrupt) as error:
            raise click.ClickException(f"{error or 'interrupted'}\nAll is kept in {own}.") from None
        finally:
            _print_summary(node, reports)
            click.echo(f"{kills.total():,} SIGKILLs so far: {dict(kills)}.")
        shutil.rmtree(own)
    shutil.rmtree(folder)


def _soak(
    node: str,
    directory: Path,
    random: Random,
    end_s: float,
    faults: int,
    reports: list[Report],
    kills: Counter[str],
) -> None:
    """Rounds on one node: `version` or `version:compressor`."""
    version, _, compressor = node.partition(":")
    servers = own_servers(directory, version, compressor or None)
    with ClusterHarness(directory, random, *servers) as harness:
        while not reports or time.monotonic() < end_s:
            keyspace = f"round{len(reports) + 1}"
            plan = random_plan(random, faults)
            report = run_round(harness, random.getrandbits(32), keyspace, plan)
            reports.append(report)
            click.echo(
                f"{node}, {keyspace}: seed {report.seed}, {report.seconds:.0f} s, "
                f"{report.events:,} events of {report.counts['written']:,} statements, "
                f"{report.repeats:,} repeats, {len(report.problems)} problems"
            )
            report.require_none()
            harness.forget(keyspace)
        harness.agent.stop()
        kills.update(harness.kills)
        click.echo(f"{harness.faults.total()} faults: {dict(harness.faults.most_common())}.")


def _print_summary(node: str, reports: list[Report]) -> None:
    counts = sum((each.counts for each in reports), start=Counter[str]())
    sums = {name: sum(getattr(each, name) for each in reports) for name in _SUMS}
    shown = ", ".join(f"{name} {number:,.0f}" for name, number in (sums | counts).items())
    repeats = max((each.largest_repeat for each in reports), default=0)
    window = max((each.largest_window for each in reports), default=0)
    click.echo(
        f"{node}: {len(reports)} rounds: {shown}, at most {repeats:,} repeats by one killed agent, "
        f"{window:,} by one that saves at once"
    )


if __name__ == "__main__":
    main()
