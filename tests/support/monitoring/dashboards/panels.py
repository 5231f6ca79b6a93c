"""Panels of Grafana as JSON objects. A panel has one unit, so its axis has one too."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
WIDTH = 24
"""Columns of a dashboard."""
Unit = Literal["short", "s", "bytes", "percentunit", "ops", "Bps", "none"]


@dataclass(frozen=True, slots=True)
class Query:
    """An expression and how its series are named; a table names its column."""

    expr: str
    legend: str = "{{instance}}"


@dataclass(frozen=True, slots=True)
class Limits:
    """Values from which a panel turns orange and red; with `is_floor`, below which it does."""

    warning: float | None = None
    critical: float | None = None
    is_floor: bool = False

    def steps(self) -> list[dict[str, Any]]:
        """Each colour with the value from which it applies; the first one has none."""
        limits = [("orange", self.warning), ("red", self.critical)]
        given = [(color, value) for color, value in limits if value is not None]
        if self.is_floor:
            given.reverse()
        colors = [color for color, _ in given]
        colors = [*colors, "green"] if self.is_floor else ["green", *colors]
        values = [None, *(value for _, value in given)]
        return [
            {"color": color, "value": value} for color, value in zip(colors, values, strict=True)
        ]


LIMITS = {
    # Seconds by which events may be late.
    "LATE": Limits(60, 300),
    "CDC_RAW_USED": Limits(0.5, 0.9),
    "CDC_RAW_FULL_IN": Limits(7200, 1800, is_floor=True),
    "OPLOG_HEADROOM": Limits(7200, 0, is_floor=True),
}
"""Limits that several panels have, by their names in the sources."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: the values of a query or a label."""

    title: str
    expr: str = ""
    """Empty for a label."""
    label: str = ""
    unit: Unit = "none"
    limits: Limits | None = None
    mappings: Sequence[Mapping[str, Any]] = ()
    link: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel without its place."""

    body: Mapping[str, Any]
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Row:
    """A row with its panels."""

    title: str
    panels: Sequence[Panel]


STATES = (
    {
        "type": "value",
        "options": {
            "0": {"text": "ok", "color": "green", "index": 0},
            "1": {"text": "degraded", "color": "orange", "index": 1},
            "2": {"text": "failing", "color": "red", "index": 2},
            "3": {"text": "no answer", "color": "dark-red", "index": 3},
        },
    },
)


UNKNOWN = {
    "type": "special",
    "options": {"match": "nan", "result": {"text": "unknown", "color": "text", "index": 9}},
}
"""The agent does not know the number, so no limit applies."""
NEVER = {
    "type": "range",
    "options": {"from": 1e12, "to": None, "result": {"text": "never", "color": "green"}},
}
"""An infinite forecast."""


def yes_no(yes: str = "green", no: str = "red") -> tuple[Mapping[str, Any], ...]:
    """Texts for the values 1 and 0, with their colours."""
    return (
        {
            "type": "value",
            "options": {
                "1": {"text": "yes", "color": yes, "index": 0},
                "0": {"text": "no", "color": no, "index": 1},
            },
        },
    )


def graph(
    title: str,
    unit: Unit,
    *queries: Query,
    about: str,
    limits: Limits | None = None,
    is_stacked: bool = False,
    maximum: float | None = None,
    width: int = 8,
) -> Panel:
    """Series over time."""
    defaults: dict[str, Any] = {
        "unit": unit,
        "min": 0,
        "custom": {
            "drawStyle": "line",
            "lineWidth": 1,
            "fillOpacity": 40 if is_stacked else 8,
            "showPoints": "never",
            "spanNulls": False,
            "stacking": {"mode": "normal" if is_stacked else "none", "group": "A"},
            "thresholdsStyle": {"mode": "dashed" if limits else "off"},
        },
    }
    if maximum is not None:
        defaults["max"] = maximum
    if limits:
        defaults["thresholds"] = {"mode": "absolute", "steps": limits.steps()}
    options = {
        "legend": {"displayMode": "table", "placement": "bottom", "calcs": ["lastNotNull", "max"]},
        "tooltip": {"mode": "multi", "sort": "desc"},
    }
    return _panel("timeseries", title, about, queries, defaults, options, width, 8)


def stat(
    title: str,
    unit: Unit,
    query: Query,
    *,
    about: str,
    limits: Limits | None = None,
    mappings: Sequence[Mapping[str, Any]] = (),
    none: str = "-",
    width: int = 4,
) -> Panel:
    """The current value. `none` is shown while there is no series."""
    defaults: dict[str, Any] = {
        "unit": unit,
        "noValue": none,
        "mappings": [*mappings, UNKNOWN, NEVER],
        "thresholds": {"mode": "absolute", "steps": (limits or Limits()).steps()},
    }
    options = {
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "colorMode": "background" if limits or mappings else "value",
        "graphMode": "none",
        "textMode": "value",
        "justifyMode": "auto",
    }
    return _panel("stat", title, about, (query,), defaults, options, width, 4)


def bars(title: str, unit: Unit, query: Query, *, about: str, width: int = 8) -> Panel:
    """Current values side by side, as horizontal bars."""
    defaults = {"unit": unit, "min": 0, "noValue": "-"}
    options = {
        "orientation": "horizontal",
        "displayMode": "basic",
        "showUnfilled": True,
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
    }
    return _panel("bargauge", title, about, (query,), defaults, options, width, 8)


def timeline(
    title: str, *queries: Query, about: str, mappings: Sequence[Mapping[str, Any]], width: int = 8
) -> Panel:
    """States over time."""
    defaults = {
        "mappings": list(mappings),
        "custom": {"fillOpacity": 80, "lineWidth": 0},
        "thresholds": {"mode": "absolute", "steps": Limits().steps()},
    }
    options = {
        "showValue": "never",
        "rowHeight": 0.8,
        "mergeValues": True,
        "legend": {"displayMode": "list", "placement": "bottom"},
        "tooltip": {"mode": "single"},
    }
    return _panel("state-timeline", title, about, queries, defaults, options, width, 8)


def table(
    title: str,
    columns: Sequence[Column],
    *,
    about: str,
    labels: str,
    join: str = "instance",
    sort: Sequence[str] = (),
    height: int = 12,
    width: int = WIDTH,
) -> Panel:
    """The current values of a query a column, joined by a label.

    `labels` is an expression whose series have the labels of the columns without an expression.
    `sort` names columns, the largest values first.
    """
    valued = [column for column in columns if column.expr]
    refs = {column.title: f"Value #{_ref(number)}" for number, column in enumerate(valued, 1)}
    queries = [Query(labels, ""), *(Query(column.expr, "") for column in valued)]
    shown = {refs.get(column.title, column.label): column.title for column in columns}
    hidden = {"Time": True, "Value #A": True}
    hidden |= {f"Time {number}": True for number in range(1, len(queries) + 1)}
    defaults = {"custom": {"align": "auto", "filterable": True}, "noValue": "-"}
    options = {
        "showHeader": True,
        "cellHeight": "sm",
        "sortBy": [{"displayName": name, "desc": True} for name in sort],
        "footer": {"show": False, "reducer": [], "fields": ""},
    }
    panel = _panel("table", title, about, queries, defaults, options, width, height)
    panel.body["fieldConfig"]["overrides"] = [_override(column) for column in columns]
    joined = {"id": "joinByField", "options": {"byField": join, "mode": "outer"}}
    return _current(panel, joined, _organized(hidden, shown))


def listing(title: str, expr: str, shown: Mapping[str, str], *, about: str, width: int) -> Panel:
    """The labels of the current series of one query, by their headings."""
    panel = _panel(
        "table",
        title,
        about,
        (Query(expr, ""),),
        {"custom": {"align": "auto", "filterable": True}, "noValue": "none"},
        {"showHeader": True, "cellHeight": "sm"},
        width,
        8,
    )
    return _current(panel, _organized({"Time": True, "Value": True}, shown))


def _organized(hidden: Mapping[str, bool], shown: Mapping[str, str]) -> dict[str, Any]:
    """A transformation that hides fields, and orders and names the others."""
    options = {
        "excludeByName": dict(hidden),
        "indexByName": {name: place for place, name in enumerate(shown)},
        "renameByName": dict(shown),
    }
    return {"id": "organize", "options": options}


def _current(panel: Panel, *transformations: Mapping[str, Any]) -> Panel:
    """The panel with the current values of its queries as tables."""
    wanted = {"instant": True, "range": False, "format": "table"}
    body = {
        **panel.body,
        "targets": [target | wanted for target in panel.body["targets"]],
        "transformations": list(transformations),
    }
    return Panel(body, panel.width, panel.height)


def _override(column: Column) -> dict[str, Any]:
    properties: list[dict[str, Any]] = []
    if column.expr:
        properties.append({"id": "unit", "value": column.unit})
    if column.limits or column.mappings:
        steps = (column.limits or Limits()).steps()
        properties += [
            {"id": "thresholds", "value": {"mode": "absolute", "steps": steps}},
            {"id": "custom.cellOptions", "value": {"type": "color-background", "mode": "basic"}},
        ]
    if column.expr:
        mappings = [*column.mappings, UNKNOWN, NEVER]
        properties.append({"id": "mappings", "value": mappings})
    if column.link:
        link = {"title": "Open the dashboard of this agent", "url": column.link}
        properties.append({"id": "links", "value": [link]})
    return {"matcher": {"id": "byName", "options": column.title}, "properties": properties}


def _ref(number: int) -> str:
    return chr(ord("A") + number)


def _panel(
    kind: str,
    title: str,
    about: str,
    queries: Sequence[Query],
    defaults: Mapping[str, Any],
    options: Mapping[str, Any],
    width: int,
    height: int,
) -> Panel:
    body = {
        "type": kind,
        "title": title,
        "description": about,
        "datasource": DATASOURCE,
        "fieldConfig": {"defaults": dict(defaults), "overrides": []},
        "options": dict(options),
        "targets": [
            {
                "refId": _ref(number),
                "datasource": DATASOURCE,
                "expr": query.expr,
                "legendFormat": query.legend,
            }
            for number, query in enumerate(queries)
        ],
    }
    return Panel(body, width, height)
