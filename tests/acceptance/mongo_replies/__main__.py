"""Play rounds of altered replies: `python -m tests.acceptance.mongo_replies --minutes 10`.

A round follows from the seed and its number. A failed one ends the campaign with exit code 1.
"""

import argparse
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from random import Random

from tests.acceptance.mongo_replies.rounds import Round
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client
from tests.support.seeds import draw_seed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="begin no round after that")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--round", type=int, help="only this one")
    arguments = parser.parse_args()
    seed = draw_seed() if arguments.seed is None else arguments.seed
    end_s = time.monotonic() + arguments.minutes * 60
    outcomes: Counter[str] = Counter()
    number = arguments.round or 1
    directory = Path(tempfile.mkdtemp(prefix="replies-"))
    with (
        MongoReplicaSet(noop_interval_s=0.05) as servers,
        Client(servers.connection_string) as writer,
    ):
        while time.monotonic() < end_s:
            place = directory / str(number)
            played = Round(servers, writer, place, Random(f"{seed}/{number}"))
            try:
                outcome = played.play()
            except Exception:
                traceback.print_exc()
                print("\n".join(played.said).encode("ascii", "backslashreplace").decode())
                print(f"Round {number} of seed {seed} failed: --seed {seed} --round {number}")
                return 1
            outcomes[outcome.partition(":")[0]] += 1
            if arguments.round:
                print("\n".join(played.said), outcome, sep="\n")
                break
            shutil.rmtree(place, ignore_errors=True)
            number += 1
            if number % 50 == 0:
                print(f"{number} rounds: {dict(outcomes)}", flush=True)
    print(f"{sum(outcomes.values())} rounds of seed {seed}: {dict(outcomes)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
