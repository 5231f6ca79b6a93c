"""One suite of a driver against a replica set of its own."""

import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tests.oracle.mongo_drivers.driver import Driver
from tests.oracle.mongo_drivers.expectations import Expectations, timed_failures
from tests.oracle.mongo_drivers.results import CaseResult, Outcome
from tests.oracle.mongo_drivers.suites import Suite
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.releases import Release
from tests.support.servers.errors import ServerFailedError


@dataclass(frozen=True)
class SuiteRun:
    """The outcome of one suite on one release. `problems` are faults of the run as a whole.
    `repeated` cases depend on a clock, failed, and have the result of a run alone."""

    suite: Suite
    series: str
    results: Mapping[str, CaseResult]
    problems: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()


def repeat_timed(
    run: SuiteRun, expectations: Expectations, run_alone: Callable[[], SuiteRun]
) -> SuiteRun:
    """The run with other results for the cases that failed and depend on a clock, if any."""
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
