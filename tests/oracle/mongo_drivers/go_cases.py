"""The Go driver's integration tests, in its module with the specifications' test data.

`go/go.mod` and `go/go.sum` pin the module and the modules that its tests need. A test that panics
ends its process, so each part of a suite runs in one of its own.
"""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.oracle.mongo_drivers.driver import Driver
from tests.oracle.mongo_drivers.expectations import Expectations, read_expectations
from tests.oracle.mongo_drivers.results import CaseResult, read_test2json
from tests.oracle.mongo_drivers.suites import GO, Suite
from tests.support.servers.cache import cached_directory
from tests.support.servers.errors import ToolFailedError
from tests.support.servers.go import go_command

_MODULE = "go.mongodb.org/mongo-driver"
_PINS = Path(__file__).with_name("go")
_FOLDERS = {"integration": "mongo/integration", "unified": "mongo/integration/unified"}
_PART_TIMEOUT_S = 600


def go_driver() -> Driver:
    """Raises HarnessError when the module cannot be fetched or its tests cannot be built."""
    go = go_command()
    module = json.loads(_checked([str(go), "mod", "download", "-json", _MODULE]))
    version = module["Version"].removeprefix("v")
    built = cached_directory(f"go/mongo-driver-tests-{version}", lambda to: _build(go, to))

    def run(
        suite: Suite, series: str, expectations: Expectations, uri: str, log: Path
    ) -> Mapping[str, CaseResult]:
        found: dict[str, CaseResult] = {}
        with log.open("w", encoding="utf-8") as output:
            for part in suite.parts:
                package, _, pattern = part.partition("/")
                command = [str(go), "tool", "test2json", "-p", package, str(built / package)]
                command += ["-test.v=test2json", f"-test.run={pattern}"]
                command += [f"-test.timeout={_PART_TIMEOUT_S}s"]
                if skipped := expectations.excluded_cases(series):
                    command.append(f"-test.skip={'|'.join(skipped)}")
                # The tests read the specifications' data by paths relative to their package.
                folder = Path(module["Dir"]) / _FOLDERS[package]
                text = _output(command, folder, uri)
                output.write(text)
                found |= read_test2json(text)
        return found

    return Driver("the Go driver", version, GO, read_expectations("go"), run)


def _build(go: Path, target: Path) -> None:
    for name, folder in _FOLDERS.items():
        _checked([str(go), "test", "-c", "-o", str(target / name), f"{_MODULE}/{folder}"])


def _checked(command: list[str]) -> str:
    done = subprocess.run(command, cwd=_PINS, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ToolFailedError(f"`{' '.join(command)}` failed:\n{done.stderr[-4000:]}")
    return done.stdout


def _output(command: list[str], folder: Path, uri: str) -> str:
    """What a test program prints, whether or not its tests pass."""
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "MONGODB_URI": uri},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=_PART_TIMEOUT_S + 60,
    ).stdout
