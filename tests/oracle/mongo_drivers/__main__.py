"""`make mongo-conformance`: pymongo's own tests against the test server, as a gate.

Exit code 1 for an unexpected outcome. A run of every suite on every release writes the page.
"""

import argparse
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

from tests.oracle.mongo_drivers.expectations import problems, read_expectations
from tests.oracle.mongo_drivers.page import render
from tests.oracle.mongo_drivers.results import Outcome
from tests.oracle.mongo_drivers.run import SuiteRun, run_suite
from tests.oracle.mongo_drivers.sources import pymongo_tests
from tests.oracle.mongo_drivers.suites import RELEASES, SUITES, Suite
from tests.support.servers.cache import REPOSITORY
from tests.support.servers.errors import HarnessError

_PAGE = REPOSITORY / "docs" / "evidence" / "mongodb-conformance.md"


def main() -> int:
    arguments = _arguments()
    suites = [suite for suite in SUITES if arguments.suite in (None, suite.name)]
    releases = arguments.release or list(RELEASES)
    expectations = read_expectations()
    try:
        tests = pymongo_tests()
    except HarnessError as error:
        print(error, file=sys.stderr)
        return 1
    logs = Path(tempfile.mkdtemp(prefix="mongo-conformance-"))
    print(f"pymongo {version('pymongo')}; logs are in {logs}.", flush=True)
    runs: list[SuiteRun] = []
    found: list[str] = []

    def run_one(suite: Suite, release: str) -> SuiteRun:
        log = logs / f"{suite.name.replace(' ', '-')}-{release}.log"
        return run_suite(tests, suite, release, expectations, log)

    pairs = [(suite, release) for suite in suites for release in releases]
    with ThreadPoolExecutor(arguments.jobs) as executor:
        for run in executor.map(run_one, *zip(*pairs, strict=True)):
            runs.append(run)
            unexpected = [*run.problems, *problems(run.results, expectations, run.series)]
            found += unexpected
            _print_run(run, unexpected)
    if suites == list(SUITES) and releases == list(RELEASES):
        _PAGE.write_text(render(runs, expectations, version("pymongo")), encoding="utf-8")
        print(f"Wrote {_PAGE.relative_to(REPOSITORY)}.")
    print(f"{len(found)} unexpected outcomes.")
    return min(len(found), 1)


def _print_run(run: SuiteRun, unexpected: list[str]) -> None:
    outcomes = [result.outcome for result in run.results.values()]
    counts = ", ".join(f"{outcomes.count(outcome)} {outcome}" for outcome in Outcome)
    print(f"{run.suite.name}, {run.series}: {counts}", flush=True)
    for line in unexpected:
        print(f"  {line[:300]}", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make mongo-conformance ARGS=…", description=__doc__)
    parser.add_argument(
        "--suite", choices=[suite.name for suite in SUITES], help="run this suite alone"
    )
    parser.add_argument(
        "--release", action="append", choices=RELEASES, help="run this release; repeatable"
    )
    parser.add_argument("--jobs", type=int, default=2, help="suites at a time (default: 2)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
