"""Outcomes of test cases, read from pytest's JUnit file or the events of `go tool test2json`."""

import json
import re
from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from xml.etree import ElementTree


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
    """The cases of a JUnit file by name. A case with several entries (its subtests, its teardown)
    has failed when one of them has. A case that pymongo expects to fail, and that does, has
    passed."""
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
    """The Go tests without subtests by name, and those that failed beside their subtests.

    The reason is what a test printed. A line that is no event belongs to no test.
    """
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
