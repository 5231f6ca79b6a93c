"""`make mongo-conformance`: the tests of MongoDB drivers against the test server, as a gate.

Exit code 1 for an unexpected outcome. A run of every suite on every release writes the page.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from tests.oracle.mongo_drivers.cases import go_driver, pymongo_driver
from tests.oracle.mongo_drivers.page import SuiteRun, render, repeat_timed, run_suite
from tests.oracle.mongo_drivers.suites import (
    GO,
    PYMONGO,
    RELEASES,
    Driver,
    Outcome,
    Suite,
    problems,
)
from tests.support.servers.cache import REPOSITORY
from tests.support.servers.errors import HarnessError

_PAGE = REPOSITORY / "docs" / "evidence" / "mongodb-conformance.md"
_DRIVERS: dict[str, Callable[[], Driver]] = {"pymongo": pymongo_driver, "go": go_driver}


def main() -> int:
    arguments = _arguments()
    names = arguments.driver or list(_DRIVERS)
    releases = arguments.release or list(RELEASES)
    try:
        drivers = [_DRIVERS[name]() for name in names]
    except HarnessError as error:
        print(error, file=sys.stderr)
        return 1
    logs = Path(tempfile.mkdtemp(prefix="mongo-conformance-"))
    print(f"Logs are in {logs}.", flush=True)
    parts: list[tuple[Driver, list[SuiteRun]]] = []
    unexpected = 0
    for driver in drivers:
        print(f"Tests of {driver.name} {driver.version}:", flush=True)
        suites = [suite for suite in driver.suites if arguments.suite in (None, suite.name)]
        pairs = [(suite, release) for suite in suites for release in releases]
        runs: list[SuiteRun] = []
        with ThreadPoolExecutor(arguments.jobs) as executor:
            run_pair = partial(_run, driver, logs)
            for run in executor.map(run_pair, *zip(*pairs, strict=True)):
                runs.append(run)
                _print_run(driver, run)
        # No other suite runs now that could delay a clock.
        for number, (run, pair) in enumerate(zip(runs, pairs, strict=True)):
            runs[number] = repeat_timed(
                run, driver.expectations, partial(run_pair, *pair, "-alone")
            )
            if runs[number].repeated:
                print(f"Alone, because {', '.join(runs[number].repeated)} failed:", flush=True)
                _print_run(driver, runs[number])
        unexpected += sum(len(_unexpected(driver, run)) for run in runs)
        parts.append((driver, runs))
    if names == list(_DRIVERS) and arguments.suite is None and releases == list(RELEASES):
        today = datetime.now(UTC).date()
        _PAGE.write_text(render(parts, today, unexpected), encoding="utf-8")
        print(f"Wrote {_PAGE.relative_to(REPOSITORY)}.")
    print(f"{unexpected} unexpected outcomes.")
    return min(unexpected, 1)


def _run(driver: Driver, logs: Path, suite: Suite, release: str, how: str = "") -> SuiteRun:
    name = f"{driver.name}-{suite.name}-{release}{how}".replace(" ", "-")
    return run_suite(driver, suite, release, logs / f"{name}.log")


def _unexpected(driver: Driver, run: SuiteRun) -> list[str]:
    return [*run.problems, *problems(run.results, driver.expectations, run.series)]


def _print_run(driver: Driver, run: SuiteRun) -> None:
    """Print a line for the run and one for each unexpected outcome."""
    outcomes = [result.outcome for result in run.results.values()]
    counts = ", ".join(f"{outcomes.count(outcome)} {outcome}" for outcome in Outcome)
    print(f"{run.suite.name}, {run.series}: {counts}", flush=True)
    for line in _unexpected(driver, run):
        print(f"  {line[:300]}", flush=True)


def _arguments() -> argparse.Namespace:
    suites = dict.fromkeys(suite.name for suite in (*PYMONGO, *GO))
    parser = argparse.ArgumentParser(prog="make mongo-conformance ARGS=…", description=__doc__)
    parser.add_argument(
        "--driver", action="append", choices=_DRIVERS, help="run this driver; repeatable"
    )
    parser.add_argument("--suite", choices=suites, help="run this suite alone")
    parser.add_argument(
        "--release", action="append", choices=RELEASES, help="run this release; repeatable"
    )
    parser.add_argument("--jobs", type=int, default=2, help="suites at a time (default: 2)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
