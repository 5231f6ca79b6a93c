"""Rounds of the kill test, one after the other over the same node, broker and directories.

Without `--node` the time is divided among Cassandra 5.0.9 with a plain log, 5.0.9 with LZ4 and
4.1.10. Prints a line a round, a table for each node and the number of SIGKILLs; exit code 1 and
everything kept when a round fails.
"""

import argparse
import secrets
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random

from rich.console import Console
from rich.table import Table

from tests.acceptance.kill.faults import random_plan
from tests.acceptance.kill.harness import ClusterHarness, own_servers
from tests.acceptance.kill.round import Report, run_round
from tests.support.servers.cassandra_settings import VERSIONS
from tests.support.servers.errors import HarnessError

_NODES = ("5.0.9", "5.0.9:LZ4Compressor", "4.1.10")
_PIPE_WIDTH = 160
_COMPRESSORS = ("", "LZ4Compressor")


def main() -> int:
    arguments = _arguments()
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_PIPE_WIDTH)
    nodes = arguments.node or list(_NODES)
    directory = Path(tempfile.mkdtemp(prefix="soak-", dir=arguments.directory))
    console.print(
        f"Seed {arguments.seed}, {arguments.minutes:g} minutes over {', '.join(nodes)}; "
        f"files are in {directory}.",
        soft_wrap=True,
    )
    kills: Counter[str] = Counter()
    for number, node in enumerate(nodes):
        minutes = arguments.minutes / len(nodes)
        is_done = _soak_node(
            console,
            node,
            directory / str(number),
            Random(arguments.seed + number),
            minutes=minutes,
            faults=arguments.faults,
            kills=kills,
        )
        _print_kills(console, "so far", kills)
        if not is_done:
            return 1
    _print_kills(console, "in all", kills)
    shutil.rmtree(directory)
    return 0


def _print_kills(console: Console, when: str, kills: Mapping[str, int]) -> None:
    shown = ", ".join(f"{name} {count:,}" for name, count in kills.items())
    console.print(f"{sum(kills.values()):,} SIGKILLs {when}: {shown}.", soft_wrap=True)


def _soak_node(
    console: Console,
    node: str,
    directory: Path,
    random: Random,
    *,
    minutes: float,
    faults: int,
    kills: Counter[str],
) -> bool:
    """Rounds on one node, written `version` or `version:compressor`; False when one failed."""
    reports: list[Report] = []
    failure = ""
    directory.mkdir()
    try:
        _soak(console, node, directory, random, minutes, faults, reports, kills)
    except (HarnessError, AssertionError) as error:
        failure = str(error)
    except KeyboardInterrupt:
        failure = "interrupted"
    console.print(_summary(node, reports))
    if failure:
        console.print(f"Failed: {failure}\nEverything is kept in {directory}.", markup=False)
        return False
    shutil.rmtree(directory)
    return True


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make soak ARGS='…'", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30, help="begin no round after that")
    parser.add_argument("--seed", type=int, default=secrets.randbits(32), help="of everything")
    parser.add_argument("--faults", type=int, default=8, help="in each round")
    parser.add_argument(
        "--node", action="append", type=_node, help="version[:compressor]; may be repeated"
    )
    parser.add_argument("--directory", type=Path, help="where to work; a temporary one otherwise")
    return parser.parse_args()


def _node(text: str) -> str:
    version, _, compressor = text.partition(":")
    if version not in VERSIONS[:4] or compressor not in _COMPRESSORS:
        raise argparse.ArgumentTypeError(
            f"{text}: unknown; versions are {', '.join(VERSIONS[:4])}, the compressor is "
            "LZ4Compressor"
        )
    return text


def _soak(
    console: Console,
    node: str,
    directory: Path,
    random: Random,
    minutes: float,
    faults: int,
    reports: list[Report],
    kills: Counter[str],
) -> None:
    end_s = time.monotonic() + minutes * 60
    version, _, compressor = node.partition(":")
    with console.status("starting the servers") as status:
        servers = own_servers(directory, version, compressor or None)
        with ClusterHarness(directory, random, *servers) as harness:
            while not reports or time.monotonic() < end_s:
                number = len(reports) + 1

                def say(what: str, number: int = number) -> None:
                    left_min = max(0.0, end_s - time.monotonic()) / 60
                    status.update(
                        f"{node}, round {number}: {what} · {harness.counts.written:,} written · "
                        f"{sum(harness.kills.values()):,} SIGKILLs · {left_min:.0f} min left"
                    )

                keyspace = f"round{number}"
                plan = random_plan(random, faults)
                report = run_round(harness, random.getrandbits(32), keyspace, plan, say)
                reports.append(report)
                console.print(_line(number, report), soft_wrap=True)
                report.require_none()
                harness.forget(keyspace)
            harness.agent.stop()
            kills.update(harness.kills)
            struck = ", ".join(f"{name} {count}" for name, count in harness.faults.most_common())
            console.print(f"{harness.faults.total()} faults: {struck}.", soft_wrap=True)


def _line(number: int, report: Report) -> str:
    return (
        f"round {number}: seed {report.seed}, {report.seconds:.0f} s, "
        f"{report.events:,} events of {report.counts.written:,} statements, "
        f"{report.repeats:,} repeats, {len(report.problems)} problems"
    )


def _summary(node: str, reports: list[Report]) -> Table:
    table = Table(
        title=f"kill test, Cassandra {node}",
        caption="most: repeats by one killed agent; window: by one that saves at once; "
        "behind: whole records behind the last marker of a killed node",
    )
    columns = (
        *("round", "s", "writes", "events", "repeats", "most", "window", "behind"),
        *("tables", "rows", "problems"),
    )
    for column in columns:
        table.add_column(column, justify="right")
    rows = [
        (
            *(report.seconds, report.counts.written, report.events, report.repeats),
            *(report.largest_repeat, report.largest_window, report.counts.records_behind),
            *(report.tables, report.rows, len(report.problems)),
        )
        for report in reports
    ]
    for number, row in enumerate(rows, 1):
        table.add_row(str(number), *(f"{value:,.0f}" for value in row))
    if rows:
        table.add_section()
        seconds, written, events, repeats, most, window, behind, tables, shown, problems = zip(
            *rows, strict=True
        )
        totals = (
            *(sum(seconds), sum(written), sum(events), sum(repeats), max(most), max(window)),
            *(sum(behind), sum(tables), sum(shown), sum(problems)),
        )
        table.add_row("all", *(f"{value:,.0f}" for value in totals))
    return table


if __name__ == "__main__":
    sys.exit(main())
