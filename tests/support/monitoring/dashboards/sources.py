"""The dashboards of this folder's YAML files: rows of panels, in the words of `panels.py`.

`<NAME>` in a text stands for the text of this name in the file's `names`. A panel begins with its
kind and title; `query` has the legend of every panel, `queries` are expressions by their legends.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from tests.support.monitoring.dashboards import panels
from tests.support.monitoring.dashboards.dashboard import agent_variables, dashboard, variable
from tests.support.monitoring.dashboards.panels import Column, Limits, Panel, Query, Row

_FOLDER = Path(__file__).parent
_NAME = re.compile("<([A-Z_]+)>")
_MORE = "MORE"
"""Where the panels of one kind of agent stand in a row of both."""
_KINDS: dict[str, Callable[..., Panel]] = {
    "graph": panels.graph,
    "stat": panels.stat,
    "bars": panels.bars,
    "timeline": panels.timeline,
    "table": panels.table,
    "listing": panels.listing,
}


def source(name: str) -> dict[str, Any]:
    """The content of a file, with its names filled in."""
    content = yaml.safe_load((_FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    filled: dict[str, Any] = _filled(content, content["names"])
    return filled


def from_source(name: str) -> dict[str, Any]:
    """The JSON model of a dashboard."""
    content = source(name)
    shared = source("agent")["rows"]
    choices = content.get("variables")
    if choices is None:
        query = "label_values(cdc_spark_reported_timestamp_seconds, instance)"
        variables = [variable("instance", "Driver", query)]
    else:
        variables = agent_variables(**choices)
    rows = [_row(each, shared) for each in content["rows"]]
    return dashboard(content["uid"], content["title"], content["about"], variables, rows)


def _filled(value: Any, names: Mapping[str, str]) -> Any:
    match value:
        case str():
            filled = _NAME.sub(lambda found: names[found[1]], value)
            return filled if filled == value else _filled(filled, names)
        case dict():
            return {key: _filled(each, names) for key, each in value.items()}
        case list():
            return [_filled(each, names) for each in value]
    return value


def _row(given: Mapping[str, Any], shared: Mapping[str, Any]) -> Row:
    own = given.get("panels", ())
    if "shared" not in given:
        return Row(given["row"], [_panel(each) for each in own])
    row = shared[given["shared"]]
    return Row(row["row"], [_panel(each) for each in _joined(row["panels"], own)])


def _joined(both: list[Any], own: list[Any]) -> Iterator[Mapping[str, Any]]:
    for each in both:
        if each == _MORE:
            yield from own
        else:
            yield each


def _panel(given: Mapping[str, Any]) -> Panel:
    options = _options(given)
    kind = next(iter(given))
    make = partial(_KINDS[kind], options.pop(kind))
    if kind == "table":
        return make([Column(**_options(each)) for each in options.pop("columns")], **options)
    if kind == "listing":
        return make(**options)
    single = [Query(options.pop("query"))] if "query" in options else []
    queries = [Query(expr, legend) for legend, expr in options.pop("queries", {}).items()]
    unit = [options.pop("unit")] if "unit" in options else []
    return make(*unit, *single, *queries, **options)


def _options(given: Mapping[str, Any]) -> dict[str, Any]:
    """With the limits and the texts of values that names and colours stand for."""
    options = dict(given)
    match options.get("limits"):
        case str() as name:
            options["limits"] = panels.LIMITS[name]
        case dict() as limits:
            options["limits"] = Limits(**limits)
    match options.get("mappings"):
        case "STATES":
            options["mappings"] = panels.STATES
        case dict() as colors:
            options["mappings"] = panels.yes_no(**colors)
    return options
