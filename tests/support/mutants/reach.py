"""Which tests run which line of Python, and how long each test takes."""

import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import coverage

from tests.support.mutants.modules import REPOSITORY

FAST = "not servers and not spark and not slow"
_UNKNOWN_S = 1.0
"""Of a test that is not in the report."""


def measure(folder: Path, arguments: Iterable[str]) -> int:
    """Runs the tests without servers, each as a context of the coverage; returns the exit code.

    The folder gets the data and a report of the tests; both are large. A second call adds to it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    settings = folder / "coveragerc"
    settings.write_text(
        "[run]\nbranch = true\nparallel = true\npatch = subprocess\n"
        f"dynamic_context = test_function\ndata_file = {folder / 'data'}\n"
        f"source = {','.join(project['tool']['coverage']['run']['source'])}\n",
        encoding="utf-8",
    )
    coverage_command = [sys.executable, "-m", "coverage"]
    parts = len(list(folder.glob("tests-*.xml")))
    report = f"--junitxml={folder / f'tests-{parts + 1}.xml'}"
    tests = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", FAST, report, *arguments]
    run = [*coverage_command, "run", f"--rcfile={settings}", *tests]
    code = subprocess.run(run, cwd=REPOSITORY, check=False).returncode
    combine = [*coverage_command, "combine", "--append", "--quiet", f"--rcfile={settings}"]
    subprocess.run(combine, cwd=REPOSITORY, check=True)
    return code


class ReachingTest(NamedTuple):
    """A test function with all its parameters."""

    seconds: float
    node_id: str


class Reach:
    """What `measure` left in a folder."""

    def __init__(self, folder: Path) -> None:
        self._data = coverage.CoverageData(basename=str(folder / "data"))
        self._data.read()
        self._seconds = defaultdict[str, float](float)
        self._failed = set[str]()
        for report in folder.glob("tests-*.xml"):
            for case in ElementTree.parse(report).iter("testcase"):
                name = f"{case.get('classname')}.{case.get('name', '').partition('[')[0]}"
                self._seconds[name] += float(case.get("time", "0"))
                if case.find("failure") is not None or case.find("error") is not None:
                    self._failed.add(name)

    def of(self, path: Path, line: int) -> list[ReachingTest]:
        """The tests that run a line, quickest first. A line of a class or a constant runs at the
        import, in no test: those that run any line of its file."""
        by_line = self._data.contexts_by_lineno(str(path))
        of_file = {context for contexts in by_line.values() for context in contexts}
        return self._tests(by_line.get(line, ())) or self._tests(of_file)

    def _tests(self, contexts: Iterable[str]) -> list[ReachingTest]:
        found = {self._test(context) for context in contexts}
        if None in found:
            # Threads and property tests run lines outside of the function of their test.
            unmeasured = self._seconds.keys() - self._data.measured_contexts()
            found |= {self._test(name) for name in unmeasured}
        return sorted(test for test in found if test is not None)

    def _test(self, context: str) -> ReachingTest | None:
        """None for a test that failed without a mutant, and for a function that is no test."""
        parts = context.split(".")
        for length in range(len(parts) - 1, 0, -1):
            file = Path(*parts[:length]).with_suffix(".py")
            if file.name.startswith("test_") and (REPOSITORY / file).is_file():
                if context in self._failed:
                    return None
                node_id = "::".join((file.as_posix(), *parts[length:]))
                return ReachingTest(self._seconds.get(context, _UNKNOWN_S), node_id)
        return None
