"""Outcomes of test cases, read from pytest's JUnit file."""

import re
from dataclasses import dataclass
from enum import StrEnum
from xml.etree import ElementTree


class Outcome(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "not supported"


@dataclass(frozen=True)
class CaseResult:
    """`case` is `module.py::Class::test`; `reason` is empty for a case that passed."""

    case: str
    outcome: Outcome
    reason: str = ""


def read_results(junit: str) -> dict[str, CaseResult]:
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


def _one_line(message: str) -> str:
    return re.sub(r"\s+", " ", message).strip()
