"""Rounds of the kill test, one after the other over the same node, broker and directories.

Without `--node` the time is divided among Cassandra 5.0.9 with a plain log, 5.0.9 with LZ4 and
4.1.10. Prints a line a round and for each node, and the number of SIGKILLs; exit code 1 and
everything kept when a round fails.
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

from tests.acceptance.kill.faults import random_plan
from tests.acceptance.kill.harness import ClusterHarness, own_servers
from tests.acceptance.kill.round import Report, run_round
from tests.support.servers.cassandra_settings import VERSIONS
from tests.support.servers.errors import HarnessError

_NODES = ("5.0.9", "5.0.9:LZ4Compressor", "4.1.10")
_COMPRESSORS = ("", "LZ4Compressor")


def main() -> int:
    arguments = _arguments()
    nodes = arguments.node or list(_NODES)
    directory = Path(tempfile.mkdtemp(prefix="soak-", dir=arguments.directory))
    print(
        f"Seed {arguments.seed}, {arguments.minutes:g} minutes over {', '.join(nodes)}; "
        f"files are in {directory}.",
        flush=True,
    )
    kills: Counter[str] = Counter()
    for number, node in enumerate(nodes):
        reports: list[Report] = []
        folder = directory / str(number)
        folder.mkdir()
        seconds = arguments.minutes * 60 / len(nodes)
        random = Random(arguments.seed + number)
        try:
            _soak(node, folder, random, seconds, arguments.faults, reports, kills)
        except (HarnessError, AssertionError, KeyboardInterrupt) as error:
            print(f"Failed: {error or 'interrupted'}\nEverything is kept in {folder}.")
            return 1
        finally:
            _print_summary(node, reports)
            shown = ", ".join(f"{name} {count:,}" for name, count in kills.items())
            print(f"{kills.total():,} SIGKILLs so far: {shown}.", flush=True)
        shutil.rmtree(folder)
    shutil.rmtree(directory)
    return 0


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
    node: str,
    directory: Path,
    random: Random,
    seconds: float,
    faults: int,
    reports: list[Report],
    kills: Counter[str],
) -> None:
    """Rounds on one node, written `version` or `version:compressor`."""
    end_s = time.monotonic() + seconds
    version, _, compressor = node.partition(":")
    with ClusterHarness(
        directory, random, *own_servers(directory, version, compressor or None)
    ) as harness:
        while not reports or time.monotonic() < end_s:
            keyspace = f"round{len(reports) + 1}"
            plan = random_plan(random, faults)
            report = run_round(harness, random.getrandbits(32), keyspace, plan)
            reports.append(report)
            print(
                f"{node}, {keyspace}: seed {report.seed}, {report.seconds:.0f} s, "
                f"{report.events:,} events of {report.counts.written:,} statements, "
                f"{report.repeats:,} repeats, {len(report.problems)} problems",
                flush=True,
            )
            report.require_none()
            harness.forget(keyspace)
        harness.agent.stop()
        kills.update(harness.kills)
        struck = ", ".join(f"{name} {count}" for name, count in harness.faults.most_common())
        print(f"{harness.faults.total()} faults: {struck}.")


def _print_summary(node: str, reports: list[Report]) -> None:
    def total(name: str) -> str:
        return f"{sum(getattr(each, name) for each in reports):,.0f}"

    written = sum(each.counts.written for each in reports)
    behind = sum(each.counts.records_behind for each in reports)
    print(
        f"{node}: {len(reports)} rounds in {total('seconds')} s, {written:,} writes, "
        f"{total('events')} events, {total('repeats')} repeats, at most "
        f"{max((each.largest_repeat for each in reports), default=0):,} by one killed agent and "
        f"{max((each.largest_window for each in reports), default=0):,} by one that saves at once, "
        f"{behind:,} whole records after the last marker of a killed node, "
        f"{total('tables')} tables, {total('rows')} rows"
    )


if __name__ == "__main__":
    sys.exit(main())
