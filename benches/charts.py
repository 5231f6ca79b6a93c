"""Plots the latest full results: `python -m benches.charts` writes docs/images/bench-*.svg."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

from benches.harness import read_result
from tests.support.servers.cache import REPOSITORY

_IMAGES = REPOSITORY / "docs" / "images"
_WIDTH, _LEFT, _RIGHT, _ROW, _TOP = 820, 290, 110, 30, 56
_PANEL = 150
_OURS, _THEIRS = "#2f6f9f", "#b0b7bd"
_FONT = 'font-family="sans-serif" font-size="13" fill="#222"'


@dataclass(frozen=True)
class Bar:
    """One bar with its range, followed by `text`."""

    name: str
    spread: dict[str, float]
    text: str
    is_ours: bool


def bar_chart(title: str, bars: Sequence[Bar]) -> str:
    scale = (_WIDTH - _LEFT - _RIGHT) / max(bar.spread["highest"] for bar in bars)
    parts = []
    for index, bar in enumerate(bars):
        y = _TOP + index * _ROW
        middle = y + _ROW / 2
        low, high, end = (_LEFT + bar.spread[n] * scale for n in ("lowest", "highest", "median"))
        colour = _OURS if bar.is_ours else _THEIRS
        size = f'width="{end - _LEFT:.1f}" height="{_ROW - 10}"'
        parts += [
            _text(_LEFT - 8, middle + 4, bar.name, "end"),
            f'<rect x="{_LEFT}" y="{y + 5}" {size} fill="{colour}"/>',
            f'<path d="M{low:.1f} {middle}H{high:.1f}" stroke="#222"/>',
            _text(high + 8, middle + 4, bar.text),
        ]
    return _picture(title, _TOP + len(bars) * _ROW + 12, parts)


def line_chart(title: str, points: Sequence[tuple[float, float]], x_end: str) -> str:
    """Plot (x, y) points with y from 0; labels mark the ends of the axes."""
    height, bottom = 260, 220
    x_scale = (_WIDTH - 120) / max(x for x, _ in points)
    y_scale = (bottom - _TOP) / max(y for _, y in points)
    line = " ".join(f"{60 + x * x_scale:.1f},{bottom - y * y_scale:.1f}" for x, y in points)
    top = max(y for _, y in points)
    return _picture(
        title,
        height,
        [
            f'<path d="M60 {_TOP}V{bottom}H{_WIDTH - 60}" fill="none" stroke="#888"/>',
            f'<polyline points="{line}" fill="none" stroke="{_OURS}" stroke-width="1.5"/>',
            _text(52, _TOP + 5, f"{top:.0f}", "end"),
            _text(52, bottom + 4, "0", "end"),
            _text(_WIDTH - 60, bottom + 20, x_end, "end"),
        ],
    )


@dataclass(frozen=True)
class Lines:
    """One of several lines over the same time, as (seconds, value) points."""

    name: str
    points: Sequence[tuple[float, float]]


def lines_chart(title: str, series: Sequence[Lines]) -> str:
    """Stack one panel per line, each with a separate y axis from 0."""
    end_s = max((x for each in series for x, _ in each.points), default=0)
    parts = []
    for index, each in enumerate(series):
        top = _TOP + index * _PANEL + 20
        bottom = top + _PANEL - 50
        highest = max((y for _, y in each.points), default=0)
        scale = (_WIDTH - 160) / (end_s or 1), (bottom - top) / (highest or 1)
        line = " ".join(
            f"{100 + x * scale[0]:.1f},{bottom - y * scale[1]:.1f}" for x, y in each.points
        )
        parts += [
            f'<path d="M100 {top}V{bottom}H{_WIDTH - 60}" fill="none" stroke="#888"/>',
            f'<polyline points="{line}" fill="none" stroke="{_OURS}" stroke-width="1.5"/>',
            _text(100, top - 8, each.name),
            _text(92, top + 5, f"{highest:,.0f}", "end"),
            _text(92, bottom + 4, "0", "end"),
        ]
    height = _TOP + len(series) * _PANEL + 20
    parts.append(_text(_WIDTH - 60, height - 24, f"{end_s:.0f} s", "end"))
    return _picture(title, height, parts)


def _picture(title: str, height: int, parts: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" role="img">'
    back = '<rect width="100%" height="100%" fill="#fff"/>'
    return "\n".join(
        [head, f"<title>{escape(title)}</title>", back, _text(16, 30, title), *parts, "</svg>\n"]
    )


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {_FONT}>{escape(text)}</text>'


_PARSER_BARS = (
    ("Cassandra, visit", "Cassandra visits"),
    ("scan", "scan visits"),
    ("events-without-cells", "events"),
    ("events", "events with cells"),
)


def parser_bars(result: dict[str, Any]) -> list[Bar]:
    bars = []
    for each in result["sets"]:
        for name, label in _PARSER_BARS:
            spread = each["rates"][name]["cpu"]
            text = f"{spread['median'] / 1e6:.2f} M"
            is_ours = not name.startswith("Cassandra")
            bars.append(Bar(f"{each['name']}: {label}", spread, text, is_ours))
    return bars


def agent_bars(result: dict[str, Any]) -> list[Bar]:
    bars = []
    for each in result["candidates"]:
        is_ours = each["name"].startswith("agent")
        for part, label in (("first_cpu_us", "first 100,000"), ("warm_cpu_us", "last third")):
            text = f"{each[part]['median']:.1f} µs"
            bars.append(Bar(f"{each['name']}, {label}", each[part], text, is_ours))
    return bars


def dedupe_bars(result: dict[str, Any]) -> list[Bar]:
    return [
        Bar(
            each["name"],
            each["cpu_rate"],
            f"{each['cpu_rate']['median'] / 1e3:.1f} k",
            each["name"] == "ours",
        )
        for each in result["ways"]
    ]


def reconcile_bars(result: dict[str, Any]) -> list[Bar]:
    return [
        Bar(
            f"{each['cells'] / 1e6:.0f} M cells",
            each["of_plain"],
            f"{each['of_plain']['median']:.2f}",
            True,
        )
        for each in result["sizes"]
    ]


def merge_bars(result: dict[str, Any]) -> list[Bar]:
    return [
        Bar(
            each["name"],
            each["rate"],
            f"{each['rate']['median'] / 1e6:.1f} M",
            each["name"] != "json.loads",
        )
        for each in result["steps"]
    ]


def tables_bars(result: dict[str, Any]) -> list[Bar]:
    return [
        Bar(
            f"{each['format']}, {each['cells'] / 1e6:.1f} M cells, {each['events']:,} events",
            each["whole_s"],
            f"{each['whole_s']['median']:.1f} s",
            True,
        )
        for each in result["batches"]
    ]


def _memory_chart(result: dict[str, Any]) -> str:
    series = result["series"]
    points = [(seconds, rss_mib) for seconds, events, rss_mib in series if events]
    title = f"Resident memory in MiB over {series[-1][1]:,} events"
    return line_chart(title, points, f"{series[-1][0]:.0f} s")


_CHARTS: dict[str, Callable[[dict[str, Any]], str]] = {
    "parser": lambda found: bar_chart("Mutations per CPU second", parser_bars(found)),
    "agent": lambda found: bar_chart("CPU time an event", agent_bars(found)),
    "dedupe": lambda found: bar_chart("Kafka to Delta: records per CPU second", dedupe_bars(found)),
    "reconcile": lambda found: bar_chart(
        "Kafka to the version store: rate as a share of a plain copy's", reconcile_bars(found)
    ),
    "merge": lambda found: bar_chart("Cells per CPU second of one thread", merge_bars(found)),
    "tables": lambda found: bar_chart("CPU seconds of a micro-batch", tables_bars(found)),
    "memory": _memory_chart,
}


def main() -> None:
    """Draw charts of the benchmarks that ran on this machine."""
    for name, chart in _CHARTS.items():
        result = read_result(name)
        if result is not None:
            (_IMAGES / f"bench-{name}.svg").write_text(chart(result))


if __name__ == "__main__":
    main()
