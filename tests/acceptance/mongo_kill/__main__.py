"""Rounds of the kill test of the MongoDB agent, whose server is also a killed process.

Each round has its own server, broker and topics. Rounds with the offset in a file and in Kafka
alternate. Prints one line per round and a table. If a round fails, it exits with code 1 and keeps
all files.
"""

import argparse
import secrets
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random

from confluent_kafka import KafkaException
from rich.console import Console
from rich.table import Table

from tests.acceptance.mongo_kill.faults import (
    EVERYWHERE,
    OF_A_PROCESS,
    Report,
    Say,
    random_plan,
    run_round,
)
from tests.acceptance.mongo_kill.harness import ReplicaSetHarness
from tests.support.mongodb.server.server_process import MongoServerProcess
from tests.support.servers.errors import HarnessError

_PIPE_WIDTH = 160
_STORES = ("file", "kafka")


def main() -> int:
    arguments = _arguments()
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_PIPE_WIDTH)
    directory = Path(tempfile.mkdtemp(prefix="mongo-soak-", dir=arguments.directory))
    console.print(
        f"Seed {arguments.seed}, {arguments.minutes:g} minutes; files are in {directory}.",
        soft_wrap=True,
    )
    kills: Counter[str] = Counter()
    reports: list[tuple[str, Report]] = []
    end_s = time.monotonic() + arguments.minutes * 60
    with console.status("starting the servers") as status:
        while not reports or time.monotonic() < end_s:
            number = len(reports)
            store = _STORES[number % len(_STORES)]

            def say(what: str, number: int = number, store: str = store) -> None:
                left_min = max(0.0, end_s - time.monotonic()) / 60
                status.update(f"round {number + 1}, {store}: {what} · {left_min:.0f} min left")

            place = directory / str(number)
            random = Random(arguments.seed + number)
            try:
                report = _round(place, random, store, arguments.faults, kills, say)
            except (HarnessError, AssertionError, KafkaException, KeyboardInterrupt) as error:
                report = None
                console.print(f"Failed: {error!s}", markup=False)
            if report is not None:
                reports.append((store, report))
                console.print(_line(number, report), soft_wrap=True)
            if report is None or report.problems:
                console.print(*(report.problems[:10] if report else ()), sep="\n", markup=False)
                console.print(f"Everything is kept in {directory}.")
                return 1
            shutil.rmtree(place)
    console.print(_table(reports))
    shown = ", ".join(f"{name} {count:,}" for name, count in kills.items())
    console.print(f"{kills.total():,} SIGKILLs: {shown}.", soft_wrap=True)
    shutil.rmtree(directory)
    return 0


def _round(
    directory: Path, random: Random, store: str, faults: int, kills: Counter[str], say: Say
) -> Report:
    server = MongoServerProcess(directory / "mongodb")
    settings = {"position.store": store}
    with ReplicaSetHarness(directory, random, settings, server) as harness:
        names = random.choices([*EVERYWHERE, *OF_A_PROCESS], k=faults)
        plan = random_plan(random, names)
        report = run_round(harness, plan, may_repeat=store == "file", say=say)
        harness.agent.stop()
        kills.update(harness.kills)
    return report


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make mongo-soak ARGS='…'", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30, help="begin no round after that")
    parser.add_argument("--seed", type=int, default=secrets.randbits(32), help="of everything")
    parser.add_argument("--faults", type=int, default=20, help="in each round")
    parser.add_argument("--directory", type=Path, help="where to work; a temporary one otherwise")
    return parser.parse_args()


def _line(number: int, report: Report) -> str:
    return (
        f"round {number + 1}: {report.operations:,} writes of {report.documents:,} documents, "
        f"{report.records:,} records, {report.repeats:,} repeats, {report.kills} SIGKILLs, "
        f"{len(report.problems)} problems"
    )


def _table(reports: list[tuple[str, Report]]) -> Table:
    table = Table(title="kill test of the MongoDB agent")
    columns = ("position", "rounds", "writes", "documents", "records", "repeats", "largest")
    for column in (*columns, "SIGKILLs", "problems"):
        table.add_column(column, justify="right")
    for store in _STORES:
        of_store = [report for name, report in reports if name == store]
        figures = (
            len(of_store),
            sum(report.operations for report in of_store),
            sum(report.documents for report in of_store),
            sum(report.records for report in of_store),
            sum(report.repeats for report in of_store),
            max((report.largest_repeat for report in of_store), default=0),
            sum(report.kills for report in of_store),
            sum(len(report.problems) for report in of_store),
        )
        table.add_row(store, *(f"{figure:,}" for figure in figures))
    return table


if __name__ == "__main__":
    sys.exit(main())
