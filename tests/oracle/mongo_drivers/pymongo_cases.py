"""pymongo's tests: one pytest process for a suite."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlsplit

from tests.oracle.mongo_drivers.driver import Driver
from tests.oracle.mongo_drivers.expectations import Expectations, read_expectations
from tests.oracle.mongo_drivers.pymongo_sources import pymongo_tests
from tests.oracle.mongo_drivers.results import CaseResult, read_junit
from tests.oracle.mongo_drivers.suites import PYMONGO, Suite

_SUITE_TIMEOUT_S = 1800
_CASE_TIMEOUT_S = 120
_INI = "[pytest]\nmarkers =\n    default\n    default_async\n    load_balancer\n"


def pymongo_driver() -> Driver:
    """Raises HarnessError when pip cannot fetch the tests."""
    tests = pymongo_tests()

    def run(
        suite: Suite, series: str, expectations: Expectations, uri: str, log: Path
    ) -> Mapping[str, CaseResult]:
        with tempfile.TemporaryDirectory() as temporary:
            junit = Path(temporary) / "junit.xml"
            _run(tests, suite, series, expectations, uri, junit, log)
            return read_junit(junit.read_text(encoding="utf-8")) if junit.exists() else {}

    return Driver("pymongo", version("pymongo"), PYMONGO, read_expectations("pymongo"), run)


def _run(
    tests: Path,
    suite: Suite,
    series: str,
    expectations: Expectations,
    uri: str,
    junit: Path,
    log: Path,
) -> None:
    ini = junit.with_name("pytest.ini")
    ini.write_text(_INI, encoding="utf-8")
    host, _, port = urlsplit(uri).netloc.split(",")[0].partition(":")
    environment = {name: value for name, value in os.environ.items() if name[:3] != "DB_"}
    environment |= {"DB_IP": host, "DB_PORT": port, "PYTHONPATH": str(tests)}
    environment |= {"PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-c", str(ini), "--rootdir", str(tests)]
    command += ["-p", "no:cacheprovider", "-p", "no:xdist", "-m", "default or load_balancer"]
    command += ["--tb=native", f"--timeout={_CASE_TIMEOUT_S}", f"--junitxml={junit}"]
    command += [f"--deselect=test/{case}" for case in expectations.excluded_cases(series)]
    command += [f"test/{module}.py" for module in suite.parts]
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
