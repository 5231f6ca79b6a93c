"""Rounds of hostile names, values, clocks and faults over whole paths.

All of a round follows from the campaign's seed and its number. A finding shows the steps of its
round, and leads to exit code 1.
"""

import argparse
import secrets
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

from tests.acceptance.strangers.cassandra_path import CassandraPath
from tests.acceptance.strangers.mends import MENDS, run_without
from tests.acceptance.strangers.mongo_path import MongoPath
from tests.acceptance.strangers.path import Round, shown, verdict
from tests.acceptance.strangers.servers import Servers
from tests.support.strangers.chance import Chance

_PATHS = {"cassandra": CassandraPath, "mongo": MongoPath}


def main() -> int:
    arguments = _arguments()
    if arguments.without:
        return run_without(arguments.without)
    seed = secrets.randbits(32) if arguments.seed is None else arguments.seed
    directory = Path(tempfile.mkdtemp(prefix="strangers-"))
    print(f"Seed {seed}, {arguments.minutes:g} minutes; files are in {directory}.", flush=True)
    failed = 0
    with Servers(directory) as servers:
        end_s = time.monotonic() + arguments.minutes * 60
        number = arguments.round or 1
        while time.monotonic() < end_s or number == 1:
            chance = Chance(f"{seed}/{number}")
            path = arguments.path or Chance(f"path of {seed}/{number}").choice(sorted(_PATHS))
            place = directory / str(number)
            place.mkdir()
            if _has_finding(path, Round(number, chance, place, servers)):
                failed += 1
                again = f"--path {path} --seed {seed} --round {number}"
                print(f'The same round: make strangers ARGS="{again}"', flush=True)
            elif not arguments.keep:
                shutil.rmtree(place)
            if arguments.round or (failed and not arguments.go_on):
                break
            number += 1
    if not (failed and arguments.keep):
        shutil.rmtree(directory)
    return 1 if failed else 0


def _has_finding(path: str, played: Round) -> bool:
    begun_s = time.monotonic()
    try:
        with _PATHS[path](played) as of_path:
            findings, explained = verdict(of_path.play(), played.said)
    except Exception:
        findings, explained = [f"the round failed:\n{traceback.format_exc(limit=-4)}"], []
    print(
        f"{played.number} {path}: {len(played.steps)} steps, {played.compared:,} rows, "
        f"{len(explained)} explained, {len(findings)} findings, {time.monotonic() - begun_s:.0f} s"
    )
    lines = [f"  explained by {each}" for each in explained] + findings
    if findings:
        lines += ["Steps:", *(f"  {shown(step)}" for step in played.steps)]
        (played.directory / "steps.txt").write_text("\n".join(played.steps))
    # Names may have letters that the terminal lacks.
    print("\n".join(lines).encode("ascii", "backslashreplace").decode(), flush=True)
    return bool(findings)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make strangers ARGS='…'", description=__doc__)
    parser.add_argument("--minutes", type=float, default=20, help="begin no round after that")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--round", type=int, default=0, help="only this one")
    parser.add_argument("--path", choices=sorted(_PATHS))
    parser.add_argument("--without", choices=sorted(MENDS), help="with this mend taken out")
    parser.add_argument("--go-on", action="store_true", help="further rounds after a finding")
    parser.add_argument("--keep", action="store_true", help="keep the files")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
