"""Rounds of the kill test, one after the other over the same node, broker and directories.

Prints a line a round and a table at the end; exit code 1 and everything kept when a round fails.
"""

import argparse
import secrets
import shutil
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from rich.console import Console
from rich.table import Table

from tests.harness.cassandra_settings import VERSIONS
from tests.harness.errors import HarnessError
from tests.kill.faults import random_plan
from tests.kill.round import Report, run_round
from tests.kill.stage import Stage


def main() -> int:
    arguments = _arguments()
    console = Console(highlight=False)
    directory = Path(tempfile.mkdtemp(prefix="soak-", dir=arguments.directory))
    console.print(
        f"Seed {arguments.seed}, {arguments.minutes:g} minutes, Cassandra {arguments.cassandra}, "
        f"commit log {arguments.compression or 'plain'}; everything lies in {directory}.",
        soft_wrap=True,
    )
    reports: list[Report] = []
    failure = ""
    try:
        _soak(console, arguments, directory, reports)
    except (HarnessError, AssertionError) as error:
        failure = str(error)
    except KeyboardInterrupt:
        console.print("Interrupted; the rounds so far:")
    console.print(_summary(reports))
    if failure:
        console.print(f"Failed: {failure}\nEverything is kept in {directory}.", markup=False)
        return 1
    shutil.rmtree(directory)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make soak ARGS='…'", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30, help="begin no round after that")
    parser.add_argument("--seed", type=int, default=secrets.randbits(32), help="of everything")
    parser.add_argument("--faults", type=int, default=8, help="in each round")
    parser.add_argument("--cassandra", default=VERSIONS[0], choices=VERSIONS[:3])
    parser.add_argument("--compression", choices=["LZ4Compressor"], help="of the commit log")
    parser.add_argument("--directory", type=Path, help="where to work; a temporary one otherwise")
    return parser.parse_args()


def _soak(
    console: Console, arguments: argparse.Namespace, directory: Path, reports: list[Report]
) -> None:
    random = Random(arguments.seed)
    end_s = time.monotonic() + arguments.minutes * 60
    with console.status("starting the servers") as status:
        stage = Stage(
            directory, random, version=arguments.cassandra, compression=arguments.compression
        )
        with stage:
            while not reports or time.monotonic() < end_s:
                number = len(reports) + 1

                def say(what: str, number: int = number) -> None:
                    left_min = max(0.0, end_s - time.monotonic()) / 60
                    status.update(
                        f"round {number}: {what} · {stage.counts.written:,} written · "
                        f"{stage.faults.total()} faults · {left_min:.0f} min left"
                    )

                keyspace = f"round{number}"
                plan = random_plan(random, arguments.faults)
                report = run_round(stage, random.getrandbits(32), keyspace, plan, say)
                reports.append(report)
                console.print(_line(number, report), soft_wrap=True)
                report.require_none()
                stage.forget(keyspace)
            stage.agent.stop()
            faults = ", ".join(f"{name} {count}" for name, count in stage.faults.most_common())
            console.print(f"{stage.faults.total()} faults: {faults}.", soft_wrap=True)


def _line(number: int, report: Report) -> str:
    return (
        f"round {number}: seed {report.seed}, {report.seconds:.0f} s, "
        f"{report.events:,} events of {report.counts.written:,} statements, "
        f"{report.repeats:,} repeats, {len(report.problems)} problems"
    )


def _summary(reports: list[Report]) -> Table:
    table = Table(
        title="kill test",
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
