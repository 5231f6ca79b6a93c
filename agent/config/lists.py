"""Lists of tables and columns in properties.

Tables are regular expressions that match `keyspace.table`, in the syntax of the segment reader.
Columns are `keyspace.table.column`, separated by commas and quoted as in CQL. A part in double
quotes may contain dots, commas and spaces; `""` stands for one quote.
"""

import re
from collections.abc import Iterable

from commitlog import EventFormat
from sidecar.properties.types import NOTHING_NAMED


def validated_expressions(expressions: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the expressions unchanged. Raises ValueError if one is invalid."""
    for expression in expressions:
        try:
            _filter((expression,), ())
        except ValueError as error:
            raise ValueError(
                f"must be regular expressions, separated by commas; `{expression}` is invalid "
                f"({str(error).splitlines()[-1]})"
            ) from error
    return expressions


def is_published(table: str, include: Iterable[str], exclude: Iterable[str]) -> bool:
    """Whether the lists include `keyspace.table`."""
    keyspace, _, name = table.partition(".")
    return _filter(include, exclude).admits(keyspace, name)


def _filter(include: Iterable[str], exclude: Iterable[str]) -> EventFormat:
    return EventFormat(
        topic_prefix="", cluster="", node_id="", include=tuple(include), exclude=tuple(exclude)
    )


_BETWEEN = ", \t\r\n"
_PART = r'(?:"(?:[^"]|"")+"\s*|[^".,][^.,]*)'
_ENTRY = re.compile(rf"({_PART}(?:\.{_PART}){{2}})(?:,|$)")
_PARTS = re.compile(_PART)
_WANTED = (
    "each must be `keyspace.table.column`; put a name with dots or commas in double quotes, "
    'as in `shop.orders."a.b"`'
)


def column_entries(value: object) -> object:
    """Splits a text into entries. Raises ValueError with the first invalid entry."""
    if not isinstance(value, str):
        return value
    entries: list[str] = []
    rest = value.strip(_BETWEEN)
    while rest:
        found = _ENTRY.match(rest)
        if found is None:
            raise ValueError(f"has `{rest.split(',')[0].strip()}`: {_WANTED}")
        entries.append(found[1].rstrip())
        rest = rest[found.end() :].lstrip(_BETWEEN)
    if value.strip() and not entries:
        raise ValueError(NOTHING_NAMED)
    return tuple(entries)


def column_parts(entry: str) -> tuple[str, str, str]:
    keyspace, table, column = map(_unquoted, _PARTS.findall(entry))
    return keyspace, table, column


def _unquoted(part: str) -> str:
    part = part.rstrip()
    if part.startswith('"'):
        return part[1:-1].replace('""', '"')
    return part
