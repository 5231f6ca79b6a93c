"""Which tests run which line of Python, and how long each test takes."""

import subprocess
import sys
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
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
    source = project["tool"]["coverage"]["run"]["source"]
    settings = folder / "coveragerc"
    settings.write_text(
        "[run]\nbranch = true\nparallel = true\npatch = subprocess\n"
        f"dynamic_context = test_function\ndata_file = {folder / 'data'}\n"
        f"source =\n{''.join(f'    {name}{chr(10)}' for name in source)}",
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


@dataclass(frozen=True, slots=True)
class ReachingTest:
    """A test function with all its parameters."""

    node_id: str
    seconds: float

    @property
    def path(self) -> str:
        return self.node_id.partition("::")[0]


class Reach:
    """What `measure` left in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._data = coverage.CoverageData(basename=str(folder / "data"))
        self._data.read()
        self._nodes: dict[str, ReachingTest | None] = {}

    def of_line(self, path: Path, line: int) -> list[ReachingTest]:
        """The tests that run a line, quickest first."""
        return self._tests(self._data.contexts_by_lineno(str(path)).get(line, []))

    def of_file(self, path: Path) -> list[ReachingTest]:
        """The tests that run any line of a file, quickest first."""
        by_line = self._data.contexts_by_lineno(str(path))
        return self._tests({context for contexts in by_line.values() for context in contexts})

    def _tests(self, contexts: Iterable[str]) -> list[ReachingTest]:
        found = {self._test(context) for context in contexts}
        known = {test for test in found if test is not None}
        if None in found:
            # Threads and property tests run lines outside of the function of their test.
            unmeasured = self._seconds.keys() - self._data.measured_contexts()
            others = {self._test(name) for name in unmeasured}
            known |= {test for test in others if test is not None}
        return sorted(known, key=lambda test: (test.seconds, test.node_id))

    def _test(self, context: str) -> ReachingTest | None:
        """None for a test that failed without a mutant, and for a function that is no test."""
        if context not in self._nodes:
            self._nodes[context] = self._resolve(context)
        return self._nodes[context]

    def _resolve(self, context: str) -> ReachingTest | None:
        if context in self._failed:
            return None
        parts = context.split(".")
        for length in range(len(parts) - 1, 0, -1):
            file = Path(*parts[:length]).with_suffix(".py")
            if file.name.startswith("test_") and (REPOSITORY / file).is_file():
                node_id = "::".join((file.as_posix(), *parts[length:]))
                return ReachingTest(node_id, self._seconds.get(context, _UNKNOWN_S))
        return None

    @cached_property
    def _cases(self) -> list[ElementTree.Element]:
        return [
            case
            for report in sorted(self._folder.glob("tests-*.xml"))
            for case in ElementTree.parse(report).iter("testcase")
        ]

    @cached_property
    def _seconds(self) -> dict[str, float]:
        seconds: dict[str, float] = {}
        for case in self._cases:
            name = _context_of(case)
            seconds[name] = seconds.get(name, 0.0) + float(case.get("time", "0"))
        return seconds

    @cached_property
    def _failed(self) -> frozenset[str]:
        return frozenset(
            _context_of(case)
            for case in self._cases
            if case.find("failure") is not None or case.find("error") is not None
        )


def _context_of(case: ElementTree.Element) -> str:
    return f"{case.get('classname')}.{case.get('name', '').partition('[')[0]}"
