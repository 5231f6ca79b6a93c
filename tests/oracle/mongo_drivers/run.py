"""One suite in a pytest process of its own, against a replica set of one member."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.oracle.mongo_drivers.expectations import Expectations
from tests.oracle.mongo_drivers.results import CaseResult, Outcome, read_results
from tests.oracle.mongo_drivers.suites import Suite
from tests.support.mongo_server import MongoReplicaSet
from tests.support.mongo_server.releases import Release
from tests.support.servers.errors import ServerFailedError

_SUITE_TIMEOUT_S = 1800
_CASE_TIMEOUT_S = 120
_INI = "[pytest]\nmarkers =\n    default\n    default_async\n    load_balancer\n"


@dataclass(frozen=True)
class SuiteRun:
    """The outcome of one suite on one release. `problems` are faults of the run as a whole."""

    suite: Suite
    series: str
    results: Mapping[str, CaseResult]
    problems: tuple[str, ...] = ()


def run_suite(
    tests: Path, suite: Suite, version: str, expectations: Expectations, log: Path
) -> SuiteRun:
    """Run a suite of pymongo. pytest's output goes to `log`."""
    series = Release(version).series
    results: dict[str, CaseResult] = {}
    problems: list[str] = []
    with tempfile.TemporaryDirectory() as temporary:
        junit = Path(temporary) / "junit.xml"
        try:
            with MongoReplicaSet(suite.members, version=version) as replica_set:
                _run(tests, suite, series, expectations, replica_set.members[0], junit, log)
        except ServerFailedError as error:
            problems.append(f"{suite.name}, {series}: {error}: {error.__cause__!r}")
        except subprocess.TimeoutExpired:
            problems.append(f"{suite.name}, {series}: no end after {_SUITE_TIMEOUT_S} s. See {log}")
        if junit.exists():
            results = read_results(junit.read_text(encoding="utf-8"))
        if not any(result.outcome is not Outcome.FAILED for result in results.values()):
            problems.append(f"{suite.name}, {series}: no case ran. See {log}.")
    return SuiteRun(suite, series, results, tuple(problems))


def _run(
    tests: Path,
    suite: Suite,
    series: str,
    expectations: Expectations,
    address: str,
    junit: Path,
    log: Path,
) -> None:
    ini = junit.with_name("pytest.ini")
    ini.write_text(_INI, encoding="utf-8")
    host, _, port = address.partition(":")
    environment = {name: value for name, value in os.environ.items() if name[:3] != "DB_"}
    environment |= {"DB_IP": host, "DB_PORT": port, "PYTHONPATH": str(tests)}
    environment |= {"PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-c", str(ini), "--rootdir", str(tests)]
    command += ["-p", "no:cacheprovider", "-p", "no:xdist", "-m", "default or load_balancer"]
    command += ["--tb=native", f"--timeout={_CASE_TIMEOUT_S}", f"--junitxml={junit}"]
    for rule in expectations.excluded:
        if not rule.releases or series in rule.releases:
            command += [f"--deselect=test/{case}" for case in rule.cases]
    command += [f"test/{file}.py" for file in suite.files]
    with log.open("w", encoding="utf-8") as output:
        subprocess.run(
            command,
            cwd=tests,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=_SUITE_TIMEOUT_S,
        )
