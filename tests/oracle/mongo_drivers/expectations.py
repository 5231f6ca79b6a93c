"""The cases that are known to fail, and the comparison of a run with them."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from tests.oracle.mongo_drivers.results import CaseResult, Outcome


@dataclass(frozen=True)
class Rule:
    """Cases that match one of `cases` (shell patterns) and why they fail or do not run.

    Without `releases` the rule holds for every release, else for these series.
    """

    cases: tuple[str, ...]
    reason: str
    releases: tuple[str, ...] = ()

    def covers(self, case: str, series: str) -> bool:
        if self.releases and series not in self.releases:
            return False
        return any(fnmatchcase(case, pattern) for pattern in self.cases)


@dataclass(frozen=True)
class Expectations:
    """`failures` run and must fail; `excluded` cases do not run. `timed` cases depend on a clock:
    one that fails beside other suites counts as it ends alone."""

    failures: tuple[Rule, ...] = ()
    excluded: tuple[Rule, ...] = ()
    timed: tuple[Rule, ...] = ()

    def failure(self, case: str, series: str) -> Rule | None:
        return next((rule for rule in self.failures if rule.covers(case, series)), None)

    def excluded_cases(self, series: str) -> tuple[str, ...]:
        rules = [rule for rule in self.excluded if not rule.releases or series in rule.releases]
        return tuple(case for rule in rules for case in rule.cases)


def read_expectations(driver: str) -> Expectations:
    """The rules of the file for a driver in this folder."""
    return read_rules(Path(__file__).with_name(f"{driver}.toml"))


def read_rules(file: Path) -> Expectations:
    """The rules of a TOML file. Raises KeyError for a rule without `cases` or `reason`."""
    document = tomllib.loads(file.read_text(encoding="utf-8"))
    kinds = (_rules(document.get(kind, ())) for kind in ("failure", "excluded", "timed"))
    return Expectations(*kinds)


def timed_failures(
    results: Mapping[str, CaseResult], expectations: Expectations, series: str
) -> tuple[str, ...]:
    """The cases that failed unexpectedly and depend on a clock."""
    return tuple(
        case
        for case, result in results.items()
        if result.outcome is Outcome.FAILED
        and expectations.failure(case, series) is None
        and any(rule.covers(case, series) for rule in expectations.timed)
    )


def problems(
    results: Mapping[str, CaseResult], expectations: Expectations, series: str
) -> Iterator[str]:
    """What makes the run of one release fail: one sentence each."""
    for case, result in results.items():
        is_expected = expectations.failure(case, series) is not None
        if result.outcome is Outcome.FAILED and not is_expected:
            yield f"{case} failed: {result.reason or 'no message'}"
        elif result.outcome is Outcome.PASSED and is_expected:
            yield f"{case} passed, but the expectations name it as failing. Remove it there."


def _rules(entries: Sequence[Mapping[str, object]]) -> tuple[Rule, ...]:
    return tuple(
        Rule(_texts(entry["cases"]), str(entry["reason"]), _texts(entry.get("releases", ())))
        for entry in entries
    )


def _texts(value: object) -> tuple[str, ...]:
    assert isinstance(value, list | tuple)
    return tuple(str(each) for each in value)
