"""Rounds of hostile names, values, clocks and faults over whole paths.

Each round has a source, topics and tables of its own, all drawn from the campaign's seed and its
number. Prints a line a round; after a finding the steps of its round, and exit code 1.
"""

import argparse
import secrets
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from tests.acceptance.strangers.cassandra_path import CassandraPath
from tests.acceptance.strangers.mends import MENDS, remove_overlay, run_without
from tests.acceptance.strangers.mongo_path import MongoPath
from tests.acceptance.strangers.path import Path as OnePath
from tests.acceptance.strangers.path import Round, explanations, shown, unexplained
from tests.acceptance.strangers.servers import Servers
from tests.support.strangers.chance import Chance

_PATHS: dict[str, Callable[[Round], OnePath]] = {
    "cassandra": CassandraPath,
    "mongo": MongoPath,
}


def main() -> int:
    arguments = _arguments()
    console = Console(highlight=False, soft_wrap=True)
    directory = Path(tempfile.mkdtemp(prefix="strangers-", dir=arguments.directory))
    console.print(
        f"Seed {arguments.seed}, {arguments.minutes:g} minutes; files are in {directory}."
    )
    failed = 0
    with Servers(directory) as servers:
        end_s = time.monotonic() + arguments.minutes * 60
        number = arguments.round or 1
        while time.monotonic() < end_s or number == 1:
            failed += _round(arguments, number, directory, servers, console)
            if arguments.round or (failed and not arguments.go_on):
                break
            number += 1
    if not (failed and arguments.keep):
        shutil.rmtree(directory)
    remove_overlay()
    return 1 if failed else 0


def _round(
    arguments: argparse.Namespace,
    number: int,
    directory: Path,
    servers: Servers,
    console: Console,
) -> bool:
    """Whether it has a finding."""
    chance = Chance(f"{arguments.seed}/{number}")
    path = arguments.path or chance.choice(sorted(_PATHS))
    place = directory / str(number)
    place.mkdir()
    played = Round(number, chance, place, servers)
    begun_s = time.monotonic()
    try:
        with _PATHS[path](played) as of_path:
            differences = of_path.play()
        findings = unexplained(differences, played.said)
    except Exception:
        differences = []
        findings = [f"the round failed:\n{traceback.format_exc(limit=-4)}"]
    took_s = time.monotonic() - begun_s
    explained = explanations(differences, played.said)
    console.print(
        f"{number} {path}: {len(played.steps)} steps, {played.compared:,} rows, "
        f"{len(explained)} explained, {len(findings)} findings, {took_s:.0f} s",
        markup=False,
    )
    for each in explained:
        console.print(f"  explained by {each}", markup=False)
    if findings:
        console.print(*findings, sep="\n", markup=False)
        steps = [shown(step) for step in played.steps]
        console.print("Steps:", *steps, sep="\n  ", markup=False)
        (place / "steps.txt").write_text("\n".join(played.steps))
        again = f"make strangers ARGS='--seed {arguments.seed} --round {number}'"
        console.print(f"The same round: {again}", markup=False)
    elif not arguments.keep:
        shutil.rmtree(place)
    return bool(findings)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make strangers ARGS='…'", description=__doc__)
    parser.add_argument("--minutes", type=float, default=20, help="begin no round after that")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--round", type=int, default=0, help="only this one")
    parser.add_argument("--path", choices=sorted(_PATHS))
    parser.add_argument("--without", choices=sorted(MENDS), help="with this mend taken out")
    parser.add_argument("--go-on", action="store_true", help="further rounds after a finding")
    parser.add_argument("--keep", action="store_true", help="keep the files")
    parser.add_argument("--directory", type=Path, help="where the files go")
    arguments = parser.parse_args()
    if arguments.without:
        folder = Path(tempfile.mkdtemp(prefix="strangers-", dir=arguments.directory))
        run_without(arguments.without, folder)
    if arguments.seed is None:
        arguments.seed = secrets.randbits(32)
    return arguments


if __name__ == "__main__":
    sys.exit(main())
