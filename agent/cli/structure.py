"""Prints the structure of a segment: lines of JSON, or a tree."""

import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, BinaryIO

import orjson
from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from commitlog import Schema, SegmentReader

Json = dict[str, Any]

_BATCH_BYTES = 4 << 20
_PIPE_WIDTH = 1_000_000
"""Lines in a pipe do not wrap."""
_GAP = b'{"t":"gap",'
# No JSON string contains this, because quotes are escaped.
_UNDECODED = b'"undecoded":{"at":'
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Report = Callable[[str], None]
"""Reports one problem."""


def write_structure(
    reader: SegmentReader,
    schema: Schema | None,
    limit: int | None,
    complete: bool,
    output: BinaryIO | None,
    report: Report,
) -> None:
    """Writes lines of JSON to `output`, or a tree to stdout when it is None."""
    name = reader.descriptor.segment
    undecoded = 0
    tree = TreePrinter() if output is None else None
    for line in _lines(reader, schema, limit, complete):
        if output is not None:
            output.write(line)
        if tree is not None:
            tree.show(orjson.loads(line))
        if line.startswith(_GAP):
            gap = orjson.loads(line)
            end = "the end" if gap["end"] is None else gap["end"]
            report(f"{name}: positions {gap['start']} to {end} cannot be read: {gap['cause']}")
        undecoded += _UNDECODED in line
    if undecoded and schema is not None:
        # Without a schema this is expected.
        print(
            f"{name}: {undecoded} mutations are only partly decoded; see `undecoded`.",
            file=sys.stderr,
        )


def _lines(
    reader: SegmentReader, schema: Schema | None, limit: int | None, complete: bool
) -> Iterator[bytes]:
    while lines := reader.structure(schema, limit=limit, complete=complete, max_bytes=_BATCH_BYTES):
        yield from lines.splitlines(keepends=True)


class TreePrinter:
    """Prints each line of the structure as a branch of a tree."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console()
        if console is None and not self._console.is_terminal:
            self._console = Console(width=_PIPE_WIDTH)

    def show(self, line: Json) -> None:
        match line["t"]:
            case "header":
                self._print(_header(line), "bold")
            case "section":
                self._print(
                    f"section {line['section']}: {line['start']} to {line['end']}, "
                    f"file {_file(line['file'])}, marker {line['crc']}",
                    "cyan",
                )
            case "record":
                self._console.print(_record(line))
            case "gap":
                end = "the end" if line["end"] is None else line["end"]
                self._print(f"gap: {line['start']} to {end}: {line['cause']}", "bold red")
            case "unwritten":
                self._print(f"unwritten zeros: {line['start']} to {line['end']}", "yellow")
            case _:
                self._print(_end(line), "bold")

    def _print(self, text: str, style: str) -> None:
        self._console.print(Text(text, style=style), soft_wrap=True)


def _header(line: Json) -> str:
    framing = line["compression"] or "plain"
    if line["encryption"]:
        framing = "encrypted, {cipher}, key {key_alias}".format(**line["encryption"])
    return (
        f"{line['segment']}: version {line['version']}, id {line['id']}, {framing}, "
        f"header file {_file(line['file'])}"
    )


def _end(line: Json) -> str:
    tail = line["tail"]
    place = tail["file"]
    rest = "nothing" if place["from"] == place["to"] else f"file {_file(place)}"
    written = f", {tail['written_bytes']} bytes of it written" if tail["written_bytes"] else ""
    return (
        f"end at {line['position']}: {line['sections']} sections, {line['records']} records, "
        f"{line['gaps']} gaps; after the last section: {rest}{written}"
    )


def _file(place: Json) -> str:
    return f"{place['from']} to {place['to']}"


def _record(line: Json) -> Tree:
    tree = Tree(
        Text(
            f"record {line['start']} to {line['end']}, {line['payload_bytes']} bytes, "
            f"checksum {line['crc']}",
            style="green" if line["crc"] == "ok" else "red",
        )
    )
    mutation = line.get("mutation", {"updates": 0, "tree": []})
    for update in mutation["tree"]:
        _add_update(tree, update)
    if undecoded := mutation.get("undecoded"):
        what = f"from {undecoded['at']}, {undecoded['bytes']} bytes: {undecoded['cause']}"
        tree.add(Text(what, style="yellow"))
    return tree


def _add_update(tree: Tree, update: Json) -> None:
    name = f"{update['keyspace']}.{update['table']}" if update["table"] else "unknown table"
    key = _values(update["key_values"]) if update["key_values"] else update["key"]
    branch = tree.add(Text(f"{name} ({update['table_id']}) {key}", style="bold"))
    if "items" not in update:
        names = [*update["static_columns"], *update["regular_columns"]]
        branch.add(Text(f"columns {', '.join(names) or 'none'}"))
    if update.get("del"):
        branch.add(Text(f"partition deleted {_deletion(update['del'])}", style="red"))
    for item in update.get("items", ()):
        if item["t"] in ("row", "static"):
            _add_row(branch, item)
        else:
            branch.add(Text(_marker(item), style="red"))


def _add_row(branch: Tree, row: Json) -> None:
    words = ["static row" if row["t"] == "static" else f"row {_values(row['ck_values'])}".rstrip()]
    if row["live"]:
        words.append(f"inserted {_time(row['live']['ts'])}{_expiry(row['live'])}")
    if row["del"]:
        words.append(f"deleted {_deletion(row['del'])}")
    leaves = branch.add(Text(", ".join(words)))
    for deletion in row["cdel"]:
        leaves.add(Text(f"{deletion['col']} deleted {_deletion(deletion)}", style="red"))
    for cell in row["cells"]:
        leaves.add(Text(_cell(cell)))


def _cell(cell: Json) -> str:
    name = cell["col"]
    if cell["path"] is not None:
        name += f"[{_json(cell['element']) if 'element' in cell else cell['path']}]"
    if cell["kind"] == "tombstone":
        return f"{name} deleted {_deletion(cell)}"
    value = f" = {_json(cell['value'])}" if "value" in cell else ""
    return f"{name}{value}  {_time(cell['ts'])}{_expiry(cell)}"


def _marker(marker: Json) -> str:
    place = _values(marker["ck_values"]) or "everything"
    if marker["t"] == "boundary":
        times = f"ends {_deletion(marker['close'])}, begins {_deletion(marker['open'])}"
    else:
        times = _deletion(marker["del"])
    return f"{marker['kind']} {place}, {times}"


def _values(values: Json) -> str:
    return ", ".join(f"{name} = {_json(value)}" for name, value in values.items())


def _json(value: object) -> str:
    return orjson.dumps(value).decode()


def _deletion(deletion: Json) -> str:
    return _time(deletion["ts"])


def _expiry(live: Json) -> str:
    return f", TTL {live['ttl']} s" if live["ttl"] is not None else ""


def _time(microseconds: int) -> str:
    """ISO text when in the range of datetime; statements can have any number."""
    try:
        return (_EPOCH + timedelta(microseconds=microseconds)).isoformat().replace("+00:00", "Z")
    except OverflowError:
        return str(microseconds)
