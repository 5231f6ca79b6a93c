"""One suite of a driver with its own replica set, and the page of a run of all suites."""

import re
import subprocess
import textwrap
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


_WIDTH = 118
_HEAD = """\
# MongoDB conformance

`make mongo-conformance` runs the tests of MongoDB drivers against the test server of the project
(`tests/support/mongodb/server`) and writes this page. The authors of the drivers and of MongoDB's
driver specifications wrote these cases; none is in this repository.

* pip fetches the source archive of pymongo that `requirements/mongo.lock` pins.
* Go fetches the module of the Go driver that `tests/oracle/mongo_drivers/go/go.mod` pins. It holds
  the integration tests and the specifications' test data.
* The npm package of the Node driver has no tests.

The server is a replica set of one or three members on loopback and behaves as each release in
turn. An unexpected failure fails the command. So does a case that passes although `pymongo.toml`
or `go.toml` in `tests/oracle/mongo_drivers` expects it to fail. A case that these files list under
`timed` depends on a clock. If it fails beside other suites, its suite runs again alone after them,
and that outcome counts.
"""


def render(parts: Sequence[tuple[Driver, Sequence[SuiteRun]]], day: date, unexpected: int) -> str:
    """The whole page, from the runs of each driver on a day."""
    pieces = [_HEAD, f"\nUnexpected outcomes of the run of {day.isoformat()}: {unexpected}.\n"]
    for driver, runs in parts:
        pieces += [f"\n## Results of {driver.name} {driver.version}\n\n", *_table(runs)]
        pieces += ["\n### Expected failures\n\n", *_failures(runs, driver.expectations)]
        pieces += ["\n### Not run\n\n", *_excluded(driver.expectations)]
        pieces += ["\n### Run again alone\n\n", *_repeated(runs)]
        pieces += ["\n### Not supported\n\n", *_skipped(runs)]
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
                reason = "unexpected" if rule is None else rule.reason
                found[reason][case].append(run.series)
    if not found:
        yield "None.\n"
    yield from _lists(found, {run.series for run in runs})


def _excluded(expectations: Expectations) -> Iterator[str]:
    if not expectations.excluded:
        yield "None.\n"
    found = {rule.reason: {case: [""] for case in rule.cases} for rule in expectations.excluded}
    yield from _lists(found, {""})


def _repeated(runs: Sequence[SuiteRun]) -> Iterator[str]:
    found = [(case, run.series) for run in runs for case in run.repeated]
    yield from (f"* `{case}`, {series}\n" for case, series in found)
    if not found:
        yield "None.\n"


def _lists(found: Mapping[str, Mapping[str, Sequence[str]]], all_series: set[str]) -> Iterator[str]:
    """For each reason a table of its cases."""
    for reason in sorted(found):
        yield f"{_wrapped(reason)}\n\n| case | releases |\n| --- | --- |\n"
        for case in sorted(found[reason]):
            series = set(found[reason][case])
            where = "all" if series == all_series else ", ".join(sorted(series))
            yield f"| `{case}` | {where} |\n"
        yield "\n"


def _skipped(runs: Sequence[SuiteRun]) -> Iterator[str]:
    yield "The driver's tests skip these cases themselves, for these reasons.\n\n"
    found: Counter[tuple[str, str]] = Counter()
    for run in runs:
        for result in run.results.values():
            if result.outcome is Outcome.SKIPPED:
                found[_shortened(result.reason), run.series] += 1
    all_series = list(dict.fromkeys(run.series for run in runs))
    yield f"| reason | {' | '.join(all_series)} |\n| --- |{' ---: |' * len(all_series)}\n"
    for reason in sorted({reason for reason, _ in found}):
        yield _row_of_skips(reason, [found[reason, series] for series in all_series])


def _shortened(reason: str) -> str:
    """Reason without the parts that differ between its cases."""
    reason = reason.removeprefix("skipping due to environmental constraints: ")
    reason = re.sub(r"^no matching RunOnBlock; comparison errors: \[(.*)\]$", r"\1", reason)
    reason = re.sub(r"^\w+ (runOnRequirements not satisfied)$", r"\1", reason)
    return re.sub(r'server version "[\d.]+"', "server version", reason)


def _row_of_skips(reason: str, counts: Sequence[int]) -> str:
    text = reason.replace("`", "'").replace("|", "\\|")
    return f"| `{text}` | {' | '.join(f'{count:,}' for count in counts)} |\n"


def _wrapped(text: str) -> str:
    return textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
