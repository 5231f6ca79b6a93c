"""One suite of a driver against a replica set of its own."""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.oracle.mongo_drivers.driver import Driver
from tests.oracle.mongo_drivers.results import CaseResult, Outcome
from tests.oracle.mongo_drivers.suites import Suite
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.releases import Release
from tests.support.servers.errors import ServerFailedError


@dataclass(frozen=True)
class SuiteRun:
    """The outcome of one suite on one release. `problems` are faults of the run as a whole."""

    suite: Suite
    series: str
    results: Mapping[str, CaseResult]
    problems: tuple[str, ...] = ()


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
