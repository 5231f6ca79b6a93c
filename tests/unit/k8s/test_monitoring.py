"""Alarms use existing metrics, and each has unit tests and a runbook heading."""

import re
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml

from tests.support.checks.metric_table import all_metrics
from tests.support.checks.promql import TARGET_LABELS, labels_of, problems, selectors
from tests.support.monitoring.__main__ import FOLDER, MANUAL, written
from tests.support.monitoring.rules import PAGE, RULE_FILES, rules_of

pytestmark = pytest.mark.heavy

REPOSITORY = Path(__file__).resolve().parents[3]
DOCS = REPOSITORY / "docs"
RULE_TESTS = REPOSITORY / "tests" / "integration" / "monitoring"
RULE_KEYS = {"alert", "expr", "for", "labels", "annotations"}
RUNBOOK = (DOCS / "how-to" / "alarms.md").read_text(encoding="utf-8")
# Alarms with `absent`: their series have no target labels.
WITHOUT_INSTANCE = {
    *("CdcNoAgents", "CdcVersionsDiffer", "CdcAgentVanished"),
    *("CdcNoLeader", "CdcNoStandby"),
}


def rules() -> list[dict[str, Any]]:
    return [
        rule
        for name in RULE_FILES
        for rule in rules_of((FOLDER / "rules" / name).read_text(encoding="utf-8"))
    ]


def named(rule: dict[str, Any]) -> str:
    return str(rule["alert"])


EACH = pytest.mark.parametrize("rule", rules(), ids=named)


def rule_tests() -> list[dict[str, Any]]:
    """The unit tests of all rules, each with its `alert_rule_test`."""
    return [
        test
        for path in sorted(RULE_TESTS.glob("*.yaml"))
        for test in yaml.safe_load(path.read_text(encoding="utf-8"))["tests"]
    ]


@EACH
def test_alarm_uses_existing_metrics_and_no_job_name(rule: dict[str, Any]) -> None:
    assert rule.keys() <= RULE_KEYS
    assert problems(rule["expr"]) == []
    assert rule["labels"].keys() == {"severity"}
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    assert re.fullmatch(r"\d+[smhd]", rule.get("for", "0s"))
    matchers = {
        matcher.name
        for selector in selectors(promql_parser.parse(rule["expr"]))
        for matcher in selector.matchers.matchers
    }
    assert matchers & {"job", "instance", "namespace", "pod"} == set()


@EACH
def test_alarm_texts_contain_target_and_existing_labels(rule: dict[str, Any]) -> None:
    texts = rule["annotations"]
    assert texts.keys() == {"summary", "description", "runbook_url"}
    known = set().union(
        *(labels_of(str(each.name)) for each in selectors(promql_parser.parse(rule["expr"])))
    )
    used = set(re.findall(r"\$labels\.(\w+)", " ".join(texts.values())))
    assert used <= known | TARGET_LABELS
    assert "instance" in used or rule["alert"] in WITHOUT_INSTANCE


@EACH
def test_runbook_address_points_to_heading_of_alarm(rule: dict[str, Any]) -> None:
    name = rule["alert"]
    assert rule["annotations"]["runbook_url"] == f"{MANUAL}/{PAGE}#{name.lower()}"
    assert (DOCS / PAGE).with_suffix(".md").exists()
    text = RUNBOOK.split(f"### {name}\n", 1)[1].split("\n#", 1)[0].strip()
    assert text.startswith(f"*{rule['labels']['severity'].title()}.* ")
    assert len(text) > 80


def test_runbook_describes_exactly_existing_alarms() -> None:
    assert sorted(re.findall(r"^### (\w+)$", RUNBOOK, re.MULTILINE)) == sorted(map(named, rules()))


@EACH
def test_each_alarm_has_firing_and_silent_unit_tests(rule: dict[str, Any]) -> None:
    outcomes = {
        bool(case["exp_alerts"])
        for test in rule_tests()
        for case in test["alert_rule_test"]
        if case["alertname"] == rule["alert"]
    }
    assert outcomes == {True, False}


@pytest.mark.parametrize("test", rule_tests(), ids=lambda test: test["name"])
def test_alarm_unit_tests_expect_texts_of_rules(test: dict[str, Any]) -> None:
    """This test detects a changed text without promtool."""
    by_name = {rule["alert"]: rule for rule in rules()}
    for case in test["alert_rule_test"]:
        texts = by_name[case["alertname"]]["annotations"]
        for expected in case["exp_alerts"]:
            for key, text in expected["exp_annotations"].items():
                pattern = "[^{]+".join(
                    map(re.escape, re.split(r"\{\{.*\}\}|\{\{.*?\}\}", texts[key]))
                )
                assert re.fullmatch(pattern, text), (text, texts[key])
    for given in test["input_series"]:
        assert problems(given["series"]) == []


@pytest.mark.parametrize("name", written())
def test_generated_file_is_up_to_date(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == written()[name]


def test_prometheus_rule_object_contains_all_rules() -> None:
    text = (FOLDER / "prometheus-rule.yaml").read_text(encoding="utf-8")
    groups = yaml.safe_load(text)["spec"]["groups"]
    assert [rule for group in groups for rule in group["rules"]] == rules()


def test_selector_applies_to_every_series() -> None:
    texts = written(selector='env="prod"')
    selected = [rule for name in RULE_FILES for rule in rules_of(texts[f"rules/{name}"])]
    assert len(selected) == len(rules())
    for rule in selected:
        for each in selectors(promql_parser.parse(rule["expr"])):
            if each.name != "ALERTS":
                assert ("env", "prod") in {(one.name, one.value) for one in each.matchers.matchers}


def test_documented_metrics_exist() -> None:
    text = (DOCS / "reference" / "metrics.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(cdc_\w+)` \| (\w+) \| (.*?) \|", text, re.MULTILINE)
    documented = {(name, kind, tuple(re.findall(r"\w+", labels))) for name, kind, labels in rows}
    there = {
        (metric.name, metric.type, metric.labels)
        for metrics in all_metrics().values()
        for metric in metrics
    }
    assert len(documented) > 40
    assert documented - there == set()
