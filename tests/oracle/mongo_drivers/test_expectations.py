"""The gate: which outcomes are unexpected, and how the page shows a run."""

import json

import pytest

from tests.oracle.mongo_drivers.page import SuiteRun, repeat_timed
from tests.oracle.mongo_drivers.suites import (
    CaseResult,
    Expectations,
    Outcome,
    Rule,
    Suite,
    problems,
    read_junit,
    read_test2json,
)

_JUNIT = """<testsuites><testsuite>
<testcase classname="test.test_session.TestSession" name="test_a" />
<testcase classname="test.test_session.TestSession" name="test_b">
  <failure message="AssertionError:&#10;  1 != 2" /></testcase>
<testcase classname="test.test_session.TestSession" name="test_c">
  <skipped message="TestX runOnRequirements not satisfied" /></testcase>
<testcase classname="test.test_session.TestSession" name="test_d">
  <skipped type="pytest.xfail" message="" /></testcase>
<testcase classname="test.test_session.TestSession" name="test_a">
  <error message="in the teardown" /></testcase>
</testsuite></testsuites>"""
_CLASS = "test_session.py::TestSession"


def test_junit_outcomes_are_read() -> None:
    results = read_junit(_JUNIT)
    assert {case.rpartition("::")[2]: each.outcome for case, each in results.items()} == {
        "test_a": Outcome.FAILED,
        "test_b": Outcome.FAILED,
        "test_c": Outcome.SKIPPED,
        "test_d": Outcome.PASSED,
    }
    assert results[f"{_CLASS}::test_b"].reason == "AssertionError: 1 != 2"
    assert results[f"{_CLASS}::test_c"].reason == "TestX runOnRequirements not satisfied"


def test_unexpected_failures_and_passes_are_problems() -> None:
    results = {
        name: CaseResult(name, outcome)
        for name, outcome in (
            ("a", Outcome.PASSED),
            ("b", Outcome.FAILED),
            ("c", Outcome.FAILED),
            ("d", Outcome.PASSED),
            ("e", Outcome.SKIPPED),
        )
    }
    expectations = Expectations(failures=(Rule(("[c-e]",), "no JavaScript", ("8.0",)),))
    found = list(problems(results, expectations, "8.0"))
    assert [problem.partition(" ")[0] for problem in found] == ["b", "d"]
    # The rule applies to another release.
    found = list(problems(results, expectations, "5.0"))
    assert [problem.partition(" ")[0] for problem in found] == ["b", "c"]


@pytest.mark.parametrize("alone", [Outcome.PASSED, Outcome.FAILED])
def test_failed_timed_case_counts_by_its_separate_run(alone: Outcome) -> None:
    """Other failures remain, whatever the second run yields."""
    suite = Suite("server discovery", ())
    timed = Expectations(timed=(Rule(("sdam/*",), "a clock"),))
    outcomes = {"sdam/a": Outcome.FAILED, "sdam/b": Outcome.PASSED, "crud": Outcome.FAILED}
    first = {case: CaseResult(case, outcome) for case, outcome in outcomes.items()}
    again = {case: CaseResult(case, alone) for case in outcomes}
    run = repeat_timed(SuiteRun(suite, "8.0", first), timed, lambda: SuiteRun(suite, "8.0", again))
    assert run.repeated == ("sdam/a",)
    assert {case: each.outcome for case, each in run.results.items()} == {
        **outcomes,
        "sdam/a": alone,
    }
    assert len(list(problems(run.results, timed, "8.0"))) == (1 if alone is Outcome.PASSED else 2)


def test_run_without_a_timed_failure_is_not_repeated() -> None:
    run = SuiteRun(Suite("crud", ()), "8.0", {"crud": CaseResult("crud", Outcome.FAILED)})
    timed = Expectations(timed=(Rule(("sdam/*",), "a clock"),))
    assert repeat_timed(run, timed, lambda: pytest.fail("it ran again")) == run


def test_go_test_outcomes_are_read() -> None:
    events = [
        {"Action": "run", "Test": "TestA"},
        {"Action": "output", "Test": "TestA/x", "Output": "=== RUN   TestA/x\n"},
        {"Action": "output", "Test": "TestA/x", "Output": "    a_test.go:12: no\n"},
        {"Action": "output", "Test": "TestA/x", "Output": "      error\n"},
        {"Action": "fail", "Test": "TestA/x"},
        {"Action": "pass", "Test": "TestA/y"},
        {"Action": "fail", "Test": "TestA"},
        {"Action": "output", "Test": "TestB", "Output": "    b_test.go:3: needs a router\n"},
        {"Action": "skip", "Test": "TestB"},
        # A test that panics after a passed subtest.
        {"Action": "pass", "Test": "TestC/x"},
        {"Action": "fail", "Test": "TestC"},
        {"Action": "fail"},
    ]
    results = read_test2json("\n".join(["panic: no event", *map(json.dumps, events)]))
    assert list(results.values()) == [
        CaseResult("TestA/x", Outcome.FAILED, "no error"),
        CaseResult("TestA/y", Outcome.PASSED),
        CaseResult("TestB", Outcome.SKIPPED, "needs a router"),
        CaseResult("TestC/x", Outcome.PASSED),
        CaseResult("TestC", Outcome.FAILED),
    ]
