"""One suite of a driver with its own replica set, and the page of a run of all suites."""

import subprocess
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from tests.oracle.mongo_drivers.suites import (
    CaseResult,
    Driver,
    Expectations,
    Outcome,
    Suite,
    timed_failures,
)
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.releases import Release
from tests.support.servers.errors import ServerFailedError


@dataclass(frozen=True)
class SuiteRun:
    """Outcome of one suite on one release. `problems` are faults of the run as a whole. `repeated`
    cases depend on a clock, failed, and have the result of a separate run."""

    suite: Suite
    series: str
    results: Mapping[str, CaseResult]
    problems: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()


def repeat_timed(
    run: SuiteRun, expectations: Expectations, run_alone: Callable[[], SuiteRun]
) -> SuiteRun:
    """The run with new results for failed cases that depend on a clock, if any."""
    failed = timed_failures(run.results, expectations, run.series)
    if not failed:
        return run
    alone = run_alone().results
    found = {case: alone.get(case, run.results[case]) for case in failed}
    return replace(run, results={**run.results, **found}, repeated=failed)


def run_suite(driver: Driver, suite: Suite, version: str, log: Path) -> SuiteRun:
    """Run a suite of a driver. The output of its tests goes to `log`."""
    series = Release(version).series
    results: Mapping[str, CaseResult] = {}
    problems: list[str] = []
    try:
        with MongoReplicaSet(suite.members, version=version, keeps_order=True) as replica_set:
            uri = replica_set.connection_string
            results = driver.run(suite, series, driver.expectations, uri, log)
    except ServerFailedError as error:
        problems.append(f"{suite.name}, {series}: {error}: {error.__cause__!r}")
    except subprocess.TimeoutExpired as error:
        problems.append(f"{suite.name}, {series}: no end after {error.timeout} s. See {log}")
    if not any(result.outcome is not Outcome.FAILED for result in results.values()):
        problems.append(f"{suite.name}, {series}: no case ran. See {log}.")
    return SuiteRun(suite, series, results, tuple(problems))


_UNEXPECTED = "unexpected"
_HEAD = """\
# MongoDB conformance

`make mongo-conformance` runs the tests of MongoDB drivers against the test server of the project
(`tests/support/mongodb/server`) and writes this page. The authors of the drivers and of MongoDB's
driver specifications wrote these cases; none is in this repository.

* pip fetches the source archive of pymongo that `requirements/mongo.lock` pins.
* Go fetches the module of the Go driver that `tests/oracle/mongo_drivers/go/go.mod` pins. It holds
  the integration tests and the specifications' test data.

The server is a replica set of one or three members on loopback and behaves as each release in
turn. `pymongo.toml` and `go.toml` in `tests/oracle/mongo_drivers` name the cases that fail or are
not run, with the reasons. An unexpected failure fails the command. So does a case that passes
although these files expect it to fail. A case under `timed` depends on a clock. If it fails beside
other suites, its suite runs again alone after them, and that outcome counts. The drivers' tests
themselves skip the cases under "not supported".
"""


def render(parts: Sequence[tuple[Driver, Sequence[SuiteRun]]], day: date, unexpected: int) -> str:
    """The whole page, from the runs of each driver on a day."""
    pieces = [_HEAD, f"\nUnexpected outcomes of the run of {day.isoformat()}: {unexpected}.\n"]
    for driver, runs in parts:
        pieces += [f"\n## Results of {driver.name} {driver.version}\n\n", *_table(runs)]
        pieces += ["\n### Expected failures\n\n", *_failures(runs, driver.expectations)]
        pieces += ["\n### Not run\n\n", *_excluded(driver.expectations)]
        if repeated := list(_repeated(runs)):
            pieces += ["\n### Run again alone\n\n", *repeated]
    return "".join(pieces).rstrip() + "\n"


def _table(runs: Sequence[SuiteRun]) -> Iterator[str]:
    yield "| suite | release | passed | failed | not supported |\n"
    yield "| --- | --- | ---: | ---: | ---: |\n"
    total: Counter[tuple[str, Outcome]] = Counter()
    for run in runs:
        counts = Counter(result.outcome for result in run.results.values())
        total.update({(run.series, outcome): count for outcome, count in counts.items()})
        yield _row(run.suite.name, run.series, [counts[outcome] for outcome in Outcome])
    for series in dict.fromkeys(run.series for run in runs):
        yield _row("all", series, [total[series, outcome] for outcome in Outcome])


def _row(name: str, series: str, counts: Sequence[int]) -> str:
    return f"| {name} | {series} | {' | '.join(f'{count:,}' for count in counts)} |\n"


def _failures(runs: Sequence[SuiteRun], expectations: Expectations) -> Iterator[str]:
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        for case, result in run.results.items():
            if result.outcome is Outcome.FAILED:
                rule = expectations.failure(case, run.series)
                reason = _UNEXPECTED if rule is None else rule.reason
                found[reason][case].append(run.series)
    yield from _table_of_reasons(found)


def _excluded(expectations: Expectations) -> Iterator[str]:
    rules = expectations.excluded
    yield from _table_of_reasons({rule.reason: dict.fromkeys(rule.cases, ()) for rule in rules})


def _repeated(runs: Sequence[SuiteRun]) -> Iterator[str]:
    found = [(case, run.series) for run in runs for case in run.repeated]
    yield from (f"* `{case}`, {series}\n" for case, series in found)


def _table_of_reasons(found: Mapping[str, Mapping[str, Sequence[str]]]) -> Iterator[str]:
    """The number of cases for each reason, and the names of those without one."""
    if not found:
        yield "None.\n"
        return
    yield "| reason | cases |\n| --- | ---: |\n"
    yield from (f"| {reason} | {len(cases)} |\n" for reason, cases in sorted(found.items()))
    unexpected = sorted(found.get(_UNEXPECTED, {}).items())
    if unexpected:
        yield "\n| unexpected case | releases |\n| --- | --- |\n"
    yield from (f"| `{case}` | {', '.join(series)} |\n" for case, series in unexpected)
