"""A dashboard from rows: places of panels, variables, links to the other dashboards."""

from collections.abc import Sequence
from typing import Any

from tests.support.monitoring.dashboards.panels import DATASOURCE, WIDTH, Panel, Row

SCHEMA_VERSION = 39
"""Of Grafana 10.4 and 11; newer ones migrate it when they load it."""


def dashboard(
    uid: str, title: str, about: str, variables: Sequence[dict[str, Any]], rows: Sequence[Row]
) -> dict[str, Any]:
    """The JSON model of a dashboard."""
    datasource = {
        "name": "datasource",
        "type": "datasource",
        "query": "prometheus",
        "label": "Data source",
        "refresh": 1,
        "hide": 0,
    }
    link = {
        "title": "Agents and jobs",
        "type": "dashboards",
        "tags": ["cdc"],
        "asDropdown": True,
        "includeVars": True,
        "keepTime": True,
        "targetBlank": False,
        "icon": "external link",
        "tooltip": "",
        "url": "",
    }
    return {
        "uid": uid,
        "title": title,
        "description": about,
        "tags": ["cdc"],
        "schemaVersion": SCHEMA_VERSION,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "timezone": "",
        "annotations": {"list": []},
        "links": [link],
        "templating": {"list": [datasource, *variables]},
        "panels": _placed(rows),
    }


def variable(name: str, label: str, query: str, *, is_multi: bool = True) -> dict[str, Any]:
    """A variable of label values; with `is_multi` all values are selected at first."""
    found: dict[str, Any] = {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": DATASOURCE,
        "query": {"query": query, "refId": "labels"},
        "definition": query,
        "refresh": 2,
        "sort": 1,
        "multi": is_multi,
        "includeAll": is_multi,
        "hide": 0,
    }
    if is_multi:
        # Also for series without the label.
        found |= {"allValue": ".*", "current": {"text": ["All"], "value": ["$__all"]}}
    return found


def agent_variables(service: str | None = None, *, has_agent: bool) -> list[dict[str, Any]]:
    """Cluster, datacenter and the agent of a dashboard about one agent."""
    of_service = f'service_name="{service}"' if service else ""
    chosen = ", ".join(filter(None, (of_service, 'cluster=~"$cluster"')))
    variables = [
        variable("cluster", "Cluster", f"label_values(cdc_build_info{{{of_service}}}, cluster)"),
        variable(
            "datacenter", "Datacenter", f"label_values(cdc_build_info{{{chosen}}}, datacenter)"
        ),
    ]
    if has_agent:
        query = f'label_values(cdc_build_info{{{chosen}, datacenter=~"$datacenter"}}, instance)'
        variables.append(variable("instance", "Agent", query, is_multi=False))
    return variables


def _placed(rows: Sequence[Row]) -> list[dict[str, Any]]:
    panels: list[dict[str, Any]] = []
    number, top = 1, 0
    for row in rows:
        head: dict[str, Any] = {
            "id": number,
            "type": "row",
            "title": row.title,
            "collapsed": False,
            "gridPos": {"x": 0, "y": top, "w": WIDTH, "h": 1},
            "panels": [],
        }
        placed, top = _flow(row.panels, top + 1, number + 1)
        panels += [head, *placed]
        number += 1 + len(placed)
    return panels


def _flow(panels: Sequence[Panel], top: int, number: int) -> tuple[list[dict[str, Any]], int]:
    """Panels from left to right; a line is as high as its highest panel."""
    placed: list[dict[str, Any]] = []
    left = height = 0
    for panel in panels:
        if left + panel.width > WIDTH:
            top, left, height = top + height, 0, 0
        place = {"x": left, "y": top, "w": panel.width, "h": panel.height}
        placed.append({"id": number + len(placed), "gridPos": place, **panel.body})
        left, height = left + panel.width, max(height, panel.height)
    return placed, top + height
