"""The dashboards of this folder's YAML files as Grafana's JSON, and what they ask.

`<NAME>` in a text stands for the text of this name in the file's `names`. A panel begins with its
kind and title, and has one unit. `query` has the legend of every panel, `queries` are expressions
by their legends. `limits` colour a value orange and red from `warning` and `critical` on; with
`is_floor`, below them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

Object = dict[str, Any]
Given = Mapping[str, Any]

_FOLDER = Path(__file__).parent
_NAME = re.compile("<([A-Z_]+)>")
_LABEL_VALUES = re.compile(r"^label_values\((?P<series>.*), \w+\)$")
_VALUES = {"__rate_interval": "5m", "cluster": ".*", "datacenter": ".*", "instance": "n1:8000"}
_DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
_WIDTH = 24
"""Columns of a dashboard."""
_SCHEMA_VERSION = 39
"""Of Grafana 10.4 and 11; newer ones migrate it when they load it."""
_KINDS = {
    "graph": ("timeseries", 8, 8),
    "stat": ("stat", 4, 4),
    "bars": ("bargauge", 8, 8),
    "timeline": ("state-timeline", 8, 8),
    "table": ("table", _WIDTH, 12),
    "listing": ("table", 8, 8),
}
"""Grafana's type of a panel, its width and its height."""
_LIMITS: Mapping[str, Given] = {
    # Seconds by which events may be late.
    "LATE": {"warning": 60, "critical": 300},
    "CDC_RAW_USED": {"warning": 0.5, "critical": 0.9},
    "CDC_RAW_FULL_IN": {"warning": 7200, "critical": 1800, "is_floor": True},
    "OPLOG_HEADROOM": {"warning": 7200, "critical": 0, "is_floor": True},
}
_STATES = {"ok": "green", "degraded": "orange", "failing": "red", "no answer": "dark-red"}
_UNKNOWN = {"match": "nan", "result": {"text": "unknown", "color": "text", "index": 9}}
"""The agent does not know the number, so no limit applies."""
_NEVER = {"from": 1e12, "to": None, "result": {"text": "never", "color": "green"}}
"""An infinite forecast."""
_OF_NUMBERS = ({"type": "special", "options": _UNKNOWN}, {"type": "range", "options": _NEVER})
_LAST = {"calcs": ["lastNotNull"], "fields": "", "values": False}


def source(name: str) -> Object:
    """The content of a file, with its names filled in."""
    content = yaml.safe_load((_FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    named: Object = _named(content, content["names"])
    return named


def from_source(name: str) -> Object:
    """The JSON model of a dashboard."""
    content = source(name)
    datasource: Object = {"name": "datasource", "type": "datasource", "query": "prometheus"}
    datasource |= {"label": "Data source", "refresh": 1, "hide": 0}
    link = {"title": "Agents and jobs", "type": "dashboards", "tags": ["cdc"], "asDropdown": True}
    link |= {"includeVars": True, "keepTime": True, "targetBlank": False}
    link |= {"icon": "external link", "tooltip": "", "url": ""}
    return {
        **{"uid": content["uid"], "title": content["title"], "description": content["about"]},
        **{"tags": ["cdc"], "schemaVersion": _SCHEMA_VERSION, "version": 1, "editable": True},
        **{"graphTooltip": 1, "refresh": "30s", "time": {"from": "now-3h", "to": "now"}},
        **{"timezone": "", "annotations": {"list": []}, "links": [link]},
        "templating": {"list": [datasource, *_variables(content.get("variables"))]},
        "panels": list(_placed(content["rows"], source("agent")["rows"])),
    }


def panels(dashboard: Given) -> Iterator[Object]:
    """All panels, also those in collapsed rows."""
    for panel in dashboard["panels"]:
        yield panel
        yield from panel.get("panels", ())


def filled(text: str) -> str:
    """An expression with a value for each of Grafana's variables."""
    return re.sub(r"\$\{?([a-z_]\w*)\}?", lambda found: _VALUES[found[1]], text)


def expressions(dashboard: Given) -> Iterator[str]:
    """The expressions of all panels and variables."""
    for variable in dashboard["templating"]["list"]:
        if found := _LABEL_VALUES.match(str(variable.get("definition", ""))):
            yield filled(found["series"])
    for panel in panels(dashboard):
        for target in panel.get("targets", ()):
            yield filled(target["expr"])


def _named(value: Any, names: Mapping[str, str]) -> Any:
    match value:
        case str():
            named = _NAME.sub(lambda found: names[found[1]], value)
            return named if named == value else _named(named, names)
        case dict():
            return {key: _named(each, names) for key, each in value.items()}
        case list():
            return [_named(each, names) for each in value]
    return value


def _variables(choices: Given | None) -> Iterator[Object]:
    """The driver of a job; or cluster, datacenter and the agent of a dashboard about one agent."""
    if choices is None:
        query = "label_values(cdc_spark_reported_timestamp_seconds, instance)"
        yield _variable("instance", "Driver", query)
        return
    service = choices["service"]
    of_service = f'service_name="{service}"' if service else ""
    chosen = ", ".join(filter(None, (of_service, 'cluster=~"$cluster"')))
    query = "label_values(cdc_build_info{%s}, %s)"
    yield _variable("cluster", "Cluster", query % (of_service, "cluster"))
    yield _variable("datacenter", "Datacenter", query % (chosen, "datacenter"))
    if choices["has_agent"]:
        located = f'{chosen}, datacenter=~"$datacenter"'
        yield _variable("instance", "Agent", query % (located, "instance"), is_multi=False)


def _variable(name: str, label: str, query: str, *, is_multi: bool = True) -> Object:
    """A variable of label values; with `is_multi` all values are selected at first."""
    # Also for series without the label.
    every = {"allValue": ".*", "current": {"text": ["All"], "value": ["$__all"]}}
    return {
        **{"name": name, "label": label, "type": "query", "datasource": _DATASOURCE},
        **{"query": {"query": query, "refId": "labels"}, "definition": query, "refresh": 2},
        **{"sort": 1, "multi": is_multi, "includeAll": is_multi, "hide": 0},
        **(every if is_multi else {}),
    }


def _placed(rows: Sequence[Given], shared: Mapping[str, Given]) -> Iterator[Object]:
    """Rows and panels from left to right; a line is as high as its highest panel. `MORE` in a row
    of both agents is where the panels of one kind of agent stand."""
    number = top = 0
    for row in rows:
        own = row.get("panels", ())
        both = shared[row["shared"]] if "shared" in row else {"row": row["row"], "panels": ["MORE"]}
        number += 1
        yield {
            **{"id": number, "type": "row", "title": both["row"], "collapsed": False},
            **{"gridPos": {"x": 0, "y": top, "w": _WIDTH, "h": 1}, "panels": []},
        }
        top += 1
        left = line = 0
        for given in (each for one in both["panels"] for each in (own if one == "MORE" else [one])):
            kind = next(iter(given))
            type_, width, height = _KINDS[kind]
            width, height = given.get("width", width), given.get("height", height)
            if left + width > _WIDTH:
                top, left, line = top + line, 0, 0
            number += 1
            place = {"x": left, "y": top, "w": width, "h": height}
            yield {"id": number, "gridPos": place, **_panel(kind, type_, given)}
            left, line = left + width, max(line, height)
        top += line


def _panel(kind: str, type_: str, given: Given) -> Object:
    columns = given.get("columns", ())
    valued = [each["expr"] for each in columns if "expr" in each]
    match kind:
        case "table":
            queries = [(expr, "") for expr in (given["labels"], *valued)]
        case "listing":
            queries = [(given["expr"], "")]
        case _:
            one = [(given["query"], "{{instance}}")] if "query" in given else []
            queries = one + [(expr, legend) for legend, expr in given.get("queries", {}).items()]
    is_table = type_ == "table"
    current = {"instant": True, "range": False, "format": "table"} if is_table else {}
    defaults, options = _appearance(kind, given)
    overrides = [_override(column) for column in columns]
    body = {
        **{"type": type_, "title": given[kind], "description": given["about"]},
        "datasource": _DATASOURCE,
        "fieldConfig": {"defaults": defaults, "overrides": overrides},
        "options": options,
        "targets": [
            {
                **{"refId": _ref(number), "datasource": _DATASOURCE},
                **{"expr": expr, "legendFormat": legend, **current},
            }
            for number, (expr, legend) in enumerate(queries)
        ],
    }
    if kind == "listing":
        body["transformations"] = [_organized({"Time": True, "Value": True}, given["shown"])]
    elif is_table:
        hidden = {"Time": True, "Value #A": True}
        hidden |= {f"Time {number}": True for number in range(1, len(queries) + 1)}
        refs = iter(range(1, len(queries)))
        fields = [
            f"Value #{_ref(next(refs))}" if "expr" in each else each["label"] for each in columns
        ]
        shown = {field: each["title"] for field, each in zip(fields, columns, strict=True)}
        join = {"byField": given.get("join", "instance"), "mode": "outer"}
        joined = {"id": "joinByField", "options": join}
        body["transformations"] = [joined, _organized(hidden, shown)]
    return body


def _appearance(kind: str, given: Given) -> tuple[Object, Object]:
    """The defaults of the fields of a panel and its options."""
    mappings, thresholds = _mappings(given), _thresholds(given)
    has_limits = "limits" in given
    match kind:
        case "graph":
            is_stacked = given.get("is_stacked", False)
            custom = {
                **{"drawStyle": "line", "lineWidth": 1, "fillOpacity": 40 if is_stacked else 8},
                **{"showPoints": "never", "spanNulls": False},
                "stacking": {"mode": "normal" if is_stacked else "none", "group": "A"},
                "thresholdsStyle": {"mode": "dashed" if has_limits else "off"},
            }
            defaults = {"unit": given["unit"], "min": 0, "custom": custom}
            defaults |= {"max": given["maximum"]} if "maximum" in given else {}
            defaults |= {"thresholds": thresholds} if has_limits else {}
            legend: Object = {"displayMode": "table", "placement": "bottom"}
            legend["calcs"] = ["lastNotNull", "max"]
            return defaults, {"legend": legend, "tooltip": {"mode": "multi", "sort": "desc"}}
        case "stat":
            defaults = {"unit": given["unit"], "noValue": given.get("none", "-")}
            defaults |= {"mappings": [*mappings, *_OF_NUMBERS], "thresholds": thresholds}
            mode = "background" if has_limits or mappings else "value"
            return defaults, {
                **{"reduceOptions": _LAST, "colorMode": mode, "graphMode": "none"},
                **{"textMode": "value", "justifyMode": "auto"},
            }
        case "bars":
            return {"unit": given["unit"], "min": 0, "noValue": "-"}, {
                **{"orientation": "horizontal", "displayMode": "basic", "showUnfilled": True},
                "reduceOptions": _LAST,
            }
        case "timeline":
            defaults = {"mappings": mappings, "custom": {"fillOpacity": 80, "lineWidth": 0}}
            return defaults | {"thresholds": thresholds}, {
                **{"showValue": "never", "rowHeight": 0.8, "mergeValues": True},
                "legend": {"displayMode": "list", "placement": "bottom"},
                "tooltip": {"mode": "single"},
            }
    none = "none" if kind == "listing" else "-"
    options: Object = {"showHeader": True, "cellHeight": "sm"}
    if kind == "table":
        sorts = [{"displayName": name, "desc": True} for name in given.get("sort", ())]
        options |= {"sortBy": sorts, "footer": {"show": False, "reducer": [], "fields": ""}}
    return {"custom": {"align": "auto", "filterable": True}, "noValue": none}, options


def _override(column: Given) -> Object:
    """What the column of a table has of its own: unit, colours, texts, a link."""
    mappings = _mappings(column)
    values: Object = {"unit": column.get("unit", "none")} if "expr" in column else {}
    if "limits" in column or mappings:
        values["thresholds"] = _thresholds(column)
        values["custom.cellOptions"] = {"type": "color-background", "mode": "basic"}
    if "expr" in column:
        values["mappings"] = [*mappings, *_OF_NUMBERS]
    if "link" in column:
        link = {"title": "Open the dashboard of this agent", "url": column["link"]}
        values["links"] = [link]
    properties = [{"id": name, "value": value} for name, value in values.items()]
    return {"matcher": {"id": "byName", "options": column["title"]}, "properties": properties}


def _organized(hidden: Mapping[str, bool], shown: Mapping[str, str]) -> Object:
    """A transformation that hides fields, and orders and names the others."""
    places = {name: place for place, name in enumerate(shown)}
    options = {"excludeByName": hidden, "indexByName": places, "renameByName": shown}
    return {"id": "organize", "options": options}


def _thresholds(given: Given) -> Object:
    """Each colour with the value from which it applies; the first one has none."""
    limits = given.get("limits", {})
    limits = _LIMITS[limits] if isinstance(limits, str) else limits
    colors = {"orange": limits.get("warning"), "red": limits.get("critical")}
    steps = [(color, value) for color, value in colors.items() if value is not None]
    if limits.get("is_floor"):
        steps.reverse()
        chosen = [*(color for color, _ in steps), "green"]
    else:
        chosen = ["green", *(color for color, _ in steps)]
    values = [None, *(value for _, value in steps)]
    pairs = zip(chosen, values, strict=True)
    return {
        "mode": "absolute",
        "steps": [{"color": color, "value": value} for color, value in pairs],
    }


def _mappings(given: Given) -> list[Object]:
    """Texts of values: of states, or `yes` and `no` for 1 and 0 with their colours."""
    match given.get("mappings"):
        case "STATES":
            texts = {
                str(number): {"text": text, "color": color, "index": number}
                for number, (text, color) in enumerate(_STATES.items())
            }
        case dict() as colors:
            texts = {
                value: {"text": text, "color": colors[text], "index": 1 - int(value)}
                for value, text in (("1", "yes"), ("0", "no"))
            }
        case _:
            return []
    return [{"type": "value", "options": texts}]


def _ref(number: int) -> str:
    return chr(ord("A") + number)
