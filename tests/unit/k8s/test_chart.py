"""The chart's values and their schema; `make kubernetes-check` renders and installs it."""

import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.support.kubernetes.manifests import K8S, REPOSITORY

CHART = K8S / "chart"
VALUES = sorted((CHART / "ci").glob("*.yaml"))
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
VERSION = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["version"]
DEFAULTS: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())


def with_defaults(own: Any, defaults: Any) -> Any:
    """Merge values like Helm: maps by key, and null removes a default."""
    if not isinstance(own, dict) or not isinstance(defaults, dict):
        return own
    merged = defaults | {
        key: with_defaults(value, defaults.get(key, {})) for key, value in own.items()
    }
    return {key: value for key, value in merged.items() if value is not None}


def problems(values: Any) -> list[str]:
    validator = jsonschema.Draft7Validator(SCHEMA)
    found = validator.iter_errors(with_defaults(values, DEFAULTS))
    return [f"{'.'.join(map(str, each.absolute_path))}: {each.message}" for each in found]


@pytest.mark.parametrize("file", VALUES, ids=lambda each: each.stem)
def test_chart_schema_accepts_examples(file: Path) -> None:
    assert problems(yaml.safe_load(file.read_text())) == []


def test_chart_schema_describes_every_value() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    assert problems({}) == []
    assert SCHEMA["properties"].keys() - {"global"} == DEFAULTS.keys()
    for agent in ("cassandra", "mongo"):
        assert SCHEMA["properties"][agent]["properties"].keys() == DEFAULTS[agent].keys()


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ({"casandra": {}}, ""),
        ({"cassandra": {"mode": "sidecar"}}, "cassandra.mode"),
        ({"cassandra": {"node": {"user": 0}}}, "cassandra.node.user"),
        ({"cassandra": {"node": {"directory": "var/lib"}}}, "cassandra.node.directory"),
        ({"cassandra": {"node": {"directory": "/"}}}, "cassandra.node.directory"),
        ({"cassandra": {"image": {"digest": "sha256:1"}}}, "cassandra.image.digest"),
        ({"cassandra": {"properties": {"a": "1\nb=2"}}}, "cassandra.properties.a"),
        ({"cassandra": {"properties": {"a b": "1"}}}, "cassandra.properties"),
        ({"cassandra": {"resources": {"limit": {}}}}, "cassandra.resources"),
        ({"cassandra": {"maxUnavailable": 0}}, "cassandra.maxUnavailable"),
        (
            {"mongo": {"mode": "statefulset", "properties": {"topic.prefix": None}}},
            "mongo.properties",
        ),
        ({"mongo": {"persistence": {"size": "much"}}}, "mongo.persistence.size"),
        ({"podMonitor": {"interval": "15"}}, "podMonitor.interval"),
    ],
)
def test_chart_schema_reports_place_of_mistake(values: Any, place: str) -> None:
    found = problems(values)
    assert [each.partition(":")[0] for each in found] == [place], found


def test_chart_version_equals_project_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (VERSION, VERSION)


@pytest.mark.parametrize("name", ["dashboards", "prometheus-rule.yaml"])
def test_chart_links_dashboards_and_alarms(name: str) -> None:
    assert (CHART / "files" / name).resolve() == K8S / "monitoring" / name
