"""Tries mutants: the tests that reach the changed line, tier by tier, until one fails.

a   the tests of the crate, and the tests of the module
b   other unit tests that reach the line
c   acceptance, oracle and integration tests without servers that reach it
d   with servers or Spark, on demand
"""

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

from tests.support.mutants.extension import ENVIRONMENT, build_extension
from tests.support.mutants.modules import MODULES, REPOSITORY, Module
from tests.support.mutants.mutant import Mutant
from tests.support.mutants.reach import FAST, Reach, ReachingTest

_TEST_LIMIT_S = 120
_TIER_LIMIT_S = 600
_TIER_TESTS_S = 90.0
"""How long the tests of a tier may take by the measurement: the quickest ones are chosen."""
_NO_TESTS = 5
"""Exit code of pytest."""
_PYTEST_FAILURE = re.compile(r"^(?:FAILED|ERROR) (\S+?::.*?)(?: - .*)?$", re.MULTILINE)
# The stacks of a hanging test, as pytest-timeout prints them; the last line in a test names it.
_PYTEST_TIMEOUT = re.compile(r'File ".*?/(tests/\S+test_\w+\.py)", line \d+, in \w+')
_CARGO_FAILURE = re.compile(r"^test (\S+)(?: - .*)? \.\.\. FAILED$", re.MULTILINE)

_Tests = Callable[[], str | None]
"""Runs tests; returns the one that fails."""


class DirtyFileError(Exception):
    """The file of a mutant has changes that are in no commit."""


class Trial:
    """Tries mutants in the working tree, with the tests of some tiers, such as `abc`."""

    def __init__(self, reach: Reach | None, extensions: Path | None, tiers: str) -> None:
        """`extensions` is a folder with extensions that are built already."""
        self._reach = reach
        self._extensions = extensions
        self._tiers = tiers

    def of(self, mutant: Mutant) -> dict[str, Any]:
        """The result: `test` is the one that failed, None where the mutant survived the `tried`
        tiers. Raises DirtyFileError, PlaceGoneError."""
        command = ["git", "status", "--porcelain", "--", mutant.file]
        if subprocess.run(command, cwd=REPOSITORY, capture_output=True, check=True).stdout:
            raise DirtyFileError(f"{mutant.file}: it has changes; commit or revert them first")
        module = MODULES[mutant.module]
        begin_s = time.monotonic()
        tried, failed = "", None
        with mutant.applied() as line:
            is_rust = module.is_rust
            tiers = self._rust(module, mutant) if is_rust else self._python(module, mutant, line)
            for tier, tests in tiers:
                if tier in self._tiers:
                    tried += "" if tier in tried else tier
                    failed = tests()
                if failed is not None:
                    break
        return {
            "caught": failed is not None,
            "test": failed,
            "tier": None if failed is None else tried[-1],
            "tried": tried,
            "seconds": round(time.monotonic() - begin_s, 1),
        }

    def _rust(self, module: Module, mutant: Mutant) -> Iterator[tuple[str, _Tests]]:
        build_extension(self._extensions, mutant.id)
        yield "a", partial(_pytest_failure, module.own_tests, FAST)
        yield "b", partial(_pytest_failure, module.room_tests, FAST)
        for crate in module.crates:
            yield "b", partial(_cargo_failure, crate, module.crate_tests)
        yield "c", partial(_pytest_failure, module.wide_tests, FAST)
        yield "d", partial(_pytest_failure, module.server_tests, "")

    def _python(self, module: Module, mutant: Mutant, line: int) -> Iterator[tuple[str, _Tests]]:
        if self._reach is None:
            raise ValueError(f"{mutant.id}: the tests of a Python line need --reach")
        reaching = self._reach.of(mutant.path, line)
        if not reaching:
            yield "a", partial(_pytest_failure, module.own_tests, FAST)
        by_tier: dict[str, list[ReachingTest]] = {"a": [], "b": [], "c": []}
        for test in reaching:
            path = test.node_id.partition("::")[0]
            is_own = any(path == own or path.startswith(f"{own}/") for own in module.own_tests)
            by_tier["a" if is_own else "b" if path.startswith("tests/unit/") else "c"].append(test)
        for tier, tests in by_tier.items():
            yield tier, partial(_pytest_failure, _quickest(tests), FAST)
        yield "d", partial(_pytest_failure, module.server_tests, "")


def _quickest(tests: list[ReachingTest]) -> list[str]:
    sums = accumulate(test.seconds for test in tests)
    return [
        test.node_id for test, sum_s in zip(tests, sums, strict=True) if sum_s < _TIER_TESTS_S
    ] or [test.node_id for test in tests[:1]]


def _pytest_failure(tests: Iterable[str], marks: str) -> str | None:
    """The first test that fails, or what ended the run; None where all pass."""
    chosen = [test for test in tests if (REPOSITORY / test.partition("::")[0]).exists()]
    if not chosen:
        return None
    quiet = ["-x", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider"]
    quiet += ["-p", "tests.support.mutants.first_failure"]
    limit = [f"--timeout={_TEST_LIMIT_S}", "-m", marks]
    found = _run([sys.executable, "-m", "pytest", *quiet, *limit, *chosen])
    if found is None:
        return f"timeout of {chosen[0]}"
    code, output = found
    if code in (0, _NO_TESTS):
        return None
    failed = _PYTEST_FAILURE.search(output)
    if failed:
        return failed.group(1)
    hung = _PYTEST_TIMEOUT.findall(output)
    return f"timeout of {hung[-1]}" if hung else f"exit code {code} of {chosen[0]}"


def _cargo_failure(crate: str, targets: Iterable[str]) -> str | None:
    found = _run(["cargo", "test", "--locked", "--package", crate, *targets])
    if found is None:
        return f"timeout of {crate}"
    code, output = found
    if not code:
        return None
    failed = _CARGO_FAILURE.search(output)
    return f"{crate}::{failed.group(1)}" if failed else f"exit code {code} of {crate}"


def _run(command: list[str]) -> tuple[int, str] | None:
    """Exit code and output; None after the limit, since a hang is caught too."""
    environment = {**ENVIRONMENT, "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command,
            cwd=REPOSITORY,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_TIER_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    return done.returncode, done.stdout
