"""Proves the MongoDB agent on a real deployment.

    make mongo-real MONGODB_URI='mongodb://…/?replicaSet=rs0'
    make mongo-real MONGOD=/usr/bin/mongod [MONGOS=/usr/bin/mongos]

MONGODB_URI names a replica set or a mongos that runs; MONGOD (and MONGOS) are programs, which are
started in a temporary folder and ended. Exit code 0: no case failed; 1: a case failed or was not
run; 2: the server or the options are rejected.
"""

import argparse
import os
import secrets
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from random import Random

from pymongo.errors import PyMongoError
from pymongo.uri_parser import parse_uri
from rich.console import Console

from tests.acceptance.mongo_real.deployment import (
    PREFIX,
    Deployment,
    RefusedError,
    connect,
    drop,
    identify,
)
from tests.acceptance.mongo_real.programs import ProgramStarter
from tests.acceptance.mongo_real.proof import LARGE, SMALL, Sizes
from tests.acceptance.mongo_real.run import ALL, CASES, Report, Result, run_cases
from tests.support.mongodb.server.given import DATABASES
from tests.support.servers.errors import HarnessError

_FREE_DISK_BYTES = 8 << 30
_COLORS = {"passed": "green", "failed": "red", "not applicable": "yellow", "not run": "red"}


def main() -> int:
    arguments = _arguments()
    console = Console(highlight=False)
    signal.signal(signal.SIGTERM, _interrupt)
    with tempfile.TemporaryDirectory(prefix="mongo-real-") as folder:
        try:
            return _run(arguments, console, Path(folder))
        except RefusedError as error:
            console.print(f"Rejected: {error}", style="red", markup=False, soft_wrap=True)
            return 2
        except (HarnessError, PyMongoError) as error:
            console.print(f"Failed: {error}", style="red", markup=False, soft_wrap=True)
            return 1
        except KeyboardInterrupt:
            console.print("Interrupted; what the proof has made is removed.", style="red")
            return 1


def _run(arguments: argparse.Namespace, console: Console, folder: Path) -> int:
    uri, mongod, mongos = (os.environ.get(name) for name in ("MONGODB_URI", "MONGOD", "MONGOS"))
    if bool(uri) == bool(mongod):
        raise RefusedError("Give one of MONGODB_URI=… and MONGOD=…")
    if mongos and not mongod:
        raise RefusedError("MONGOS needs MONGOD, which runs the shards.")
    if arguments.drop_leftovers:
        return _drop_leftovers(uri, arguments.prefix, console)
    if shutil.disk_usage(folder).free < _FREE_DISK_BYTES and not arguments.small:
        raise RefusedError(f"{folder} has less than 8 GiB free. Set TMPDIR to a larger disk.")
    begun = datetime.now(UTC).isoformat(timespec="seconds")
    seed = secrets.randbits(32) if arguments.seed is None else arguments.seed
    ends_at_s = time.monotonic() + 60 * arguments.minutes
    names = {*(arguments.case or ALL)}
    if unknown := names - ALL.keys():
        raise RefusedError(f"Unknown cases: {', '.join(sorted(unknown))}")
    results: list[Result] = []

    def show(result: Result) -> None:
        results.append(result)
        color = _COLORS[result.outcome]
        console.print(f"  [{color}]{result.outcome}[/] {result.case}, {result.seconds:.1f} s")
        console.print(f"    {result.note}", markup=False, soft_wrap=True)

    for number, deployment in enumerate(_deployments(arguments, folder / "servers")):
        _announce(console, deployment, arguments.prefix, seed)
        with console.status("") as status:
            run_cases(
                folder / f"proof-{number}",
                deployment,
                _sizes(arguments),
                Random(seed),
                prefix=arguments.prefix,
                # The suites start their own clusters, so once is enough.
                chosen={
                    name: run
                    for name, run in ALL.items()
                    if name in names and (number == 0 or name in CASES)
                },
                ends_at_s=ends_at_s,
                on_begin=status.update,
                on_result=show,
            )
    report = Report(begun, version("cdc-sidecar"), seed, results)
    arguments.report.parent.mkdir(parents=True, exist_ok=True)
    arguments.report.with_suffix(".md").write_text(report.markdown(), encoding="utf-8")
    arguments.report.with_suffix(".json").write_text(report.json(), encoding="utf-8")
    console.print(f"Report: {arguments.report.with_suffix('.md')}", soft_wrap=True)
    return 1 if report.has_failed else 0


def _deployments(arguments: argparse.Namespace, folder: Path) -> Iterator[Deployment]:
    """One deployment after the other; programs run until the next deployment."""
    mongod, mongos = os.environ.get("MONGOD"), os.environ.get("MONGOS")
    if not mongod:
        uri = os.environ["MONGODB_URI"]
        images = not arguments.no_images
        yield identify(uri, may_step_down=arguments.yes, keeps_images=images)
        return
    starter = ProgramStarter(
        mongod, mongos or None, folder, arguments.oplog_mib, arguments.cache_gb
    )
    with starter.replica_set() as started:
        yield identify(
            started.connection_string,
            may_step_down=True,
            processes=started,
            oplog_mib=arguments.oplog_mib,
        )
    if mongos:
        with starter.cluster() as cluster:
            yield identify(cluster.connection_string, may_step_down=False, processes=cluster)


def _announce(console: Console, deployment: Deployment, prefix: str, seed: int) -> None:
    uri = deployment.connection_string
    places = ", ".join(f"{host}:{port}" for host, port in parse_uri(uri)["nodelist"])
    steps = [
        f"creates the databases {prefix}_*, and {', '.join(DATABASES)} if none of them exists, "
        "and drops them at the end",
        "reads the change stream of the deployment",
    ]
    if deployment.may_step_down:
        steps.append("makes the primary step down (replSetStepDown) several times")
    if deployment.processes is not None:
        steps.append("kills and restarts the servers, which it has started")
    console.print(f"[bold]{deployment.title}[/] at {places}, seed {seed}. The proof:")
    for step in steps:
        console.print(f"  * {step}", soft_wrap=True)


def _drop_leftovers(uri: str | None, prefix: str, console: Console) -> int:
    if not uri:
        raise RefusedError("--drop-leftovers needs MONGODB_URI.")
    with connect(uri) as client:
        dropped = drop(client, prefix)
    console.print(f"Dropped: {', '.join(dropped) or 'nothing'}.")
    return 0


def _sizes(arguments: argparse.Namespace) -> Sizes:
    """Sizes of the options; no wait exceeds the time limit of the whole proof."""
    sizes = SMALL if arguments.small else LARGE
    names = ("documents", "operations", "rounds", "transaction_mib", "deadline_s")
    given = {name: getattr(arguments, name) for name in names}
    chosen = replace(sizes, **{name: each for name, each in given.items() if each is not None})
    longest_s = max(1, round(60 * arguments.minutes))
    return replace(chosen, deadline_s=min(chosen.deadline_s, longest_s))


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make mongo-real ARGS='…'",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--yes", action="store_true", help="the primary may be made to step down")
    parser.add_argument("--no-images", action="store_true", help="the server keeps no images")
    parser.add_argument("--minutes", type=float, default=60, help="begin no case after that")
    parser.add_argument("--small", action="store_true", help="few documents, as `make test` does")
    parser.add_argument("--case", action="append", help=f"one of: {', '.join(ALL)}")
    parser.add_argument("--prefix", default=PREFIX, help="of the databases that it creates")
    parser.add_argument("--oplog-mib", type=int, default=64, help="of servers that it starts")
    parser.add_argument("--cache-gb", type=float, default=0.25, help="of servers that it starts")
    parser.add_argument("--documents", type=int, help="of the snapshot")
    parser.add_argument("--operations", type=int, help="of each round of writes")
    parser.add_argument("--rounds", type=int, help="of writes")
    parser.add_argument("--transaction-mib", type=int, help="of the large transaction")
    parser.add_argument("--deadline-s", type=int, help="of each wait")
    parser.add_argument("--seed", type=int, help="of the random writes")
    parser.add_argument("--drop-leftovers", action="store_true", help="drop them, and do no more")
    parser.add_argument(
        "--report", type=Path, default=Path("build/mongo-real"), help="without .md and .json"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
