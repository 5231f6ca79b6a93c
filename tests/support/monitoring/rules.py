"""The alarms: plain rule files of Prometheus are the source, a PrometheusRule has the same text."""

import re
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

RULE_FILES = ("cdc-agents.yaml", "cdc-cassandra.yaml", "cdc-mongodb.yaml", "cdc-spark.yaml")
PAGE = "how-to/alarms.html"
_ALERT = re.compile(r"^\s*- alert: (\w+)$")
_RUNBOOK = re.compile(r"^(\s*runbook_url: ).*$")
_EXPR = re.compile(r"^(?P<indent>\s*)expr: (?P<rest>.*)$")
_METRIC = re.compile(
    r'(?<![\w"])(?P<name>cdc_\w+|up|process_start_time_seconds)(?![\w=!])'
    r"(?:\{(?P<matchers>[^}]*)\})?"
)
_HEAD = """\
# Alarms of the agents and Spark jobs, for the Prometheus operator. `make monitoring` writes this
# file from rules/*.yaml; docs/how-to/alarms.md describes each alarm.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: cdc-sidecar
  labels:
    app.kubernetes.io/part-of: cdc-sidecar
spec:
  groups:
"""


def rules_of(text: str) -> list[dict[str, Any]]:
    """The rules of a rule file."""
    return [rule for group in yaml.safe_load(text)["groups"] for rule in group["rules"]]


def with_runbooks(text: str, manual: str) -> str:
    """A rule file whose runbook addresses point into the manual at the address `manual`."""
    lines, alert = [], ""
    for line in text.splitlines():
        if found := _ALERT.match(line):
            alert = found[1]
        lines.append(_RUNBOOK.sub(rf'\g<1>"{manual.rstrip("/")}/{PAGE}#{alert.lower()}"', line))
    return "\n".join([*lines, ""])


def with_selector(text: str, selector: str) -> str:
    """A rule file whose expressions select only series with the matchers `selector`."""
    lines, depth = [], -1
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if found := _EXPR.match(line):
            depth = len(found["indent"])
            line = f"{found['indent']}expr: {_selecting(found['rest'], selector)}"
        elif indent > depth >= 0:
            line = _selecting(line, selector)
        else:
            depth = -1
        lines.append(line)
    return "\n".join([*lines, ""])


def _selecting(expr: str, selector: str) -> str:
    def replaced(found: re.Match[str]) -> str:
        matchers = ", ".join(filter(None, (found["matchers"], selector)))
        return f"{found['name']}{{{matchers}}}"

    return _METRIC.sub(replaced, expr) if selector else expr


def prometheus_rule(texts: Iterable[str]) -> str:
    """The PrometheusRule with the groups of all rule files."""
    groups = [text.split("groups:\n", 1)[1] for text in texts]
    return _HEAD + "".join(textwrap.indent(each, "  ") for each in groups)


def written_rules(folder: Path, manual: str, selector: str = "") -> dict[str, str]:
    """The texts of all files by name, from the rule files in `folder`."""
    texts = {}
    for name in RULE_FILES:
        text = (folder / "rules" / name).read_text(encoding="utf-8")
        texts[f"rules/{name}"] = with_selector(with_runbooks(text, manual), selector)
    return {**texts, "prometheus-rule.yaml": prometheus_rule(texts.values())}
