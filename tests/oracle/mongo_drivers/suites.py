"""The drivers' suites, and their outcomes compared with the cases that are known to fail."""

import json
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Protocol
from xml.etree import ElementTree

RELEASES = ("5.0.31", "6.0.20", "8.0.4", "9.0.4")


@dataclass(frozen=True)
class Suite:
    """Cases about one subject. `members` is the size of the replica set. `parts` are modules of
    pymongo's package `test`. For the Go driver they are patterns of tests after the name of their
    package: `integration/TestCursor$`."""

    name: str
    parts: tuple[str, ...]
    members: int = 1


PYMONGO = (
    Suite("change streams", ("test_change_stream",)),
    Suite("sessions", ("test_session", "test_sessions_unified", "test_causal_consistency"), 3),
    Suite("transactions", ("test_transactions", "test_transactions_unified"), 3),
    Suite("retryable reads", ("test_retryable_reads", "test_retryable_reads_unified")),
    Suite("retryable writes", ("test_retryable_writes", "test_retryable_writes_unified")),
    Suite("unified test format", ("test_unified_format",)),
    Suite("commands and cursors", ("test_run_command", "test_read_write_concern_spec")),
    Suite("load balancers", ("test_load_balancer",)),
    Suite(
        "server discovery",
        (
            "test_discovery_and_monitoring",
            "test_sdam_monitoring_spec",
            "test_topology",
            "test_server_selection",
            "test_server_selection_in_window",
            "test_server_selection_rtt",
            "test_server_description",
            "test_max_staleness",
            "test_heartbeat_monitoring",
            "test_monitor",
            "test_streaming_protocol",
            "test_hello_latched",
            "test_connections_survive_primary_stepdown_spec",
        ),
        3,
    ),
    Suite("connection pools", ("test_pooling", "test_connection_monitoring")),
)

GO = (
    Suite(
        "change streams",
        ("integration/TestChangeStream_ReplicaSet", "unified/TestUnifiedSpec/change-streams"),
    ),
    Suite(
        "sessions",
        (
            "integration/TestSession(s|Pool|sProse)$",
            "integration/TestCausalConsistency_Supported",
            "unified/TestUnifiedSpec/sessions",
        ),
        3,
    ),
    Suite(
        "transactions",
        (
            "integration/TestUnifiedSpecs/(transactions|convenient)",
            "unified/TestUnifiedSpec/transactions",
        ),
        3,
    ),
    Suite(
        "retryable reads",
        ("integration/TestRetryableReadsProse", "integration/TestUnifiedSpecs/retryable-reads"),
    ),
    Suite(
        "retryable writes",
        ("integration/TestRetryableWrites(Prose|Spec)", "unified/TestUnifiedSpec/retryable-writes"),
    ),
    Suite("unified test format", ("unified/TestUnifiedSpec/unified-test-format",)),
    Suite(
        "commands and cursors",
        (
            "integration/TestClient$",
            "integration/TestCollection",
            "integration/TestCursor",
            "integration/TestDatabase",
            "integration/TestErrors",
            "integration/TestWriteConcernError",
            "integration/TestWriteErrors",
            "integration/TestUnifiedSpecs/read-write-concern",
            "unified/TestUnifiedSpec/(command-monitoring|run-command)",
        ),
    ),
    Suite(
        "load balancers", ("integration/TestLoadBalancer", "unified/TestUnifiedSpec/load-balancers")
    ),
    Suite(
        "server discovery",
        (
            "integration/TestSDAM",
            "integration/TestServer",
            "integration/TestConnectionsSurvivePrimaryStepDown",
            "integration/TestUnifiedSpecs/server-discovery",
            "unified/TestUnifiedSpec/server-(discovery|selection)",
        ),
        3,
    ),
    Suite("connection pools", ("unified/TestUnifiedSpec/connection-monitoring",)),
)


class Outcome(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "not supported"


_GO_OUTCOMES = {"pass": Outcome.PASSED, "fail": Outcome.FAILED, "skip": Outcome.SKIPPED}


@dataclass(frozen=True)
class CaseResult:
    """`case` is `module.py::Class::test` or `Test/subtest`. A case that passed has no `reason`."""

    case: str
    outcome: Outcome
    reason: str = ""


def read_junit(junit: str) -> dict[str, CaseResult]:
    """Cases of a JUnit file by name. A case with several entries (its subtests, its teardown) has
    failed if one of them has. A case that pymongo expects to fail, and that fails, has passed."""
    found: dict[str, CaseResult] = {}
    for element in ElementTree.fromstring(junit).iter("testcase"):
        result = _result(element)
        known = found.get(result.case)
        if known is None or known.outcome is not Outcome.FAILED:
            found[result.case] = result
    return found


def _result(element: ElementTree.Element) -> CaseResult:
    module, _, class_name = element.get("classname", "").removeprefix("test.").partition(".")
    case = "::".join(part for part in (f"{module}.py", class_name, element.get("name", "")) if part)
    for child in element:
        if child.tag in ("failure", "error"):
            return CaseResult(case, Outcome.FAILED, _one_line(child.get("message", "")))
        if child.tag == "skipped" and child.get("type") != "pytest.xfail":
            return CaseResult(case, Outcome.SKIPPED, _one_line(child.get("message", "")))
    return CaseResult(case, Outcome.PASSED)


def read_test2json(events: str) -> dict[str, CaseResult]:
    """The Go tests without subtests by name, and those that failed beside their subtests. The
    reason is the output of the test. A line that is no event belongs to no test."""
    actions: dict[str, str] = {}
    printed: defaultdict[str, str] = defaultdict(str)
    for line in events.splitlines():
        event = json.loads(line) if line.startswith("{") else {}
        test, action = event.get("Test"), event.get("Action")
        if test is None:
            continue
        if action == "output" and not re.match(r"\s*(===|---)", event["Output"]):
            printed[test] += event["Output"]
        elif action in _GO_OUTCOMES:
            actions[test] = action
    results: dict[str, CaseResult] = {}
    for test, action in actions.items():
        inner = [actions[each] for each in actions if each.startswith(f"{test}/")]
        is_own_failure = action == "fail" and "fail" not in inner
        if inner and not is_own_failure:
            continue
        outcome = _GO_OUTCOMES[action]
        reason = re.sub(r"^\S+\.go:\d+: ", "", _one_line(printed[test]))
        results[test] = CaseResult(test, outcome, "" if outcome is Outcome.PASSED else reason)
    return results


def _one_line(message: str) -> str:
    return re.sub(r"\s+", " ", message).strip()


@dataclass(frozen=True)
class Rule:
    """Cases that match one of `cases` (shell patterns), and why they fail or do not run. Without
    `releases` the rule applies to every release, otherwise to these series."""

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
    if one fails beside other suites, its separate run counts."""

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
    """Reasons why the run of one release fails, one sentence each."""
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


class RunCases(Protocol):
    """Runs the cases of a suite against a replica set. Their output goes to `log`."""

    def __call__(
        self, suite: Suite, series: str, expectations: Expectations, uri: str, log: Path
    ) -> Mapping[str, CaseResult]: ...


@dataclass(frozen=True)
class Driver:
    name: str
    version: str
    suites: tuple[Suite, ...]
    expectations: Expectations
    run: RunCases
