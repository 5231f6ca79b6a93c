"""The tests of the drivers.

pip fetches the source archive of pymongo; go/go.mod pins the module of the Go driver.
"""

import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlsplit

from tests.oracle.mongo_drivers.suites import (
    GO,
    PYMONGO,
    CaseResult,
    Driver,
    Expectations,
    Suite,
    read_expectations,
    read_junit,
    read_test2json,
)
from tests.support.servers.cache import REPOSITORY, cached_directory
from tests.support.servers.errors import HarnessError, ToolFailedError
from tests.support.servers.go import go_command

_LOCK = REPOSITORY / "requirements" / "mongo.lock"
_TIMEOUT_S = 600


def pymongo_tests() -> Path:
    """The folder with pymongo's package `test`, of the installed release.

    Raises HarnessError when pip cannot fetch the archive.
    """
    return cached_directory(f"pymongo-tests-{version('pymongo')}", _fetch)


def locked_requirement(lock: str, name: str) -> str:
    """The lines of a lock file that pin `name` with its hashes."""
    lines = lock.splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith(f"{name}=="))
    end = start
    while lines[end].endswith("\\"):
        end += 1
    return "\n".join(lines[start : end + 1]) + "\n"


def _fetch(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        downloads = Path(temporary)
        requirement = downloads / "requirement.txt"
        lock = _LOCK.read_text(encoding="utf-8")
        requirement.write_text(locked_requirement(lock, "pymongo"), encoding="utf-8")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--require-hashes", "--no-binary", "pymongo"]
        command += ["-r", str(requirement), "-d", str(downloads)]
        try:
            subprocess.run(command, check=True, timeout=_TIMEOUT_S)
        except (subprocess.SubprocessError, OSError) as error:
            raise HarnessError(f"pip cannot download pymongo's source archive: {error}.") from error
        (archive,) = downloads.glob("pymongo-*.tar.gz")
        _unpack(archive, folder)


def _unpack(archive: Path, folder: Path) -> None:
    """The tests alone: the package under test is the installed one, with its extension."""
    with tarfile.open(archive) as opened:
        for member in opened:
            member.name = member.name.partition("/")[2]
            if member.name.startswith("test/"):
                opened.extract(member, folder, filter="data")


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
