"""Prints delivered events: counts by table and operation, and a few shortened events."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table

OPERATIONS = {"i": "inserts", "u": "updates", "d": "deletes", "r": "ranges"}
_MAX_COLUMNS = 6
_MAX_CELLS = 2
_ON_ONE_LINE = ("key", "source")

Event = Mapping[str, Any]


def read_events(lines: Iterable[bytes | str]) -> list[Event]:
    """Read the file sink's output, one event per line."""
    return [json.loads(line) for line in lines]


def print_counts(console: Console, events: Sequence[Event]) -> None:
    """Print one line per topic."""
    counts = Counter((event["topic"], event["value"]["op"]) for event in events)
    table = Table("topic", title="What arrived")
    for heading in (*OPERATIONS.values(), "events"):
        table.add_column(heading, justify="right")
    for topic in sorted({topic for topic, _ in counts}):
        numbers = [counts[topic, operation] for operation in OPERATIONS]
        table.add_row(topic, *(str(number or "") for number in numbers), str(sum(numbers)))
    console.print(table)


def print_samples(console: Console, events: Sequence[Event]) -> None:
    """Print the first insert, range deletion and delete, shortened if they are long."""
    for operation in ("i", "r", "d"):
        sample = next((e for e in events if e["value"]["op"] == operation), None)
        if sample is None:
            continue
        console.print(f"\n[bold]{OPERATIONS[operation]}[/], for example from {sample['topic']}:")
        text = "\n".join(_lines(_shortened(sample), depth=3))
        console.print(Syntax(text, "json", word_wrap=True, background_color="default"))


def _shortened(event: Event) -> dict[str, Any]:
    """Return the event with long lists cut; a note replaces the removed elements."""
    value = dict(event["value"])
    after = value.get("after") or {}
    if len(after) > _MAX_COLUMNS:
        kept = dict(list(after.items())[:_MAX_COLUMNS])
        value["after"] = {**kept, "…": _more(len(after) - _MAX_COLUMNS, "column")}
    cells = value.get("cells")
    if cells and len(cells.get("cell") or ()) > _MAX_CELLS:
        rest = len(cells["cell"]) - _MAX_CELLS
        value["cells"] = {
            **cells,
            "cell": [*cells["cell"][:_MAX_CELLS], f"… {_more(rest, 'cell')}"],
        }
    return {"key": event["key"], "headers": event["headers"], "value": value}


def _more(count: int, noun: str) -> str:
    return f"{count} more {noun}{'' if count == 1 else 's'}"


def _lines(value: Any, depth: int, indent: str = "") -> list[str]:
    """Format JSON with one line per member down to `depth`."""
    if depth == 0 or not isinstance(value, dict) or not value:
        return [json.dumps(value, ensure_ascii=False)]
    inner = indent + "  "
    lines = ["{"]
    for number, (name, member) in enumerate(value.items(), 1):
        first, *rest = _lines(member, 0 if name in _ON_ONE_LINE else depth - 1, inner)
        comma = "," if number < len(value) else ""
        block = [f"{inner}{json.dumps(name, ensure_ascii=False)}: {first}", *rest]
        block[-1] += comma
        lines += block
    return [*lines, f"{indent}}}"]
