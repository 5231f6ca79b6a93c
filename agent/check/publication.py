"""Published tables, their names in events, and list entries that match nothing."""

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import orjson

from agent.config.lists import is_published
from agent.config.model import AgentProperties
from commitlog import EventFormat, Schema
from sidecar.check.check import first_names


def table_topic(properties: AgentProperties, table: str) -> str:
    """Returns the topic of `keyspace.table`, as in events."""
    keyspace, _, name = table.partition(".")
    return _format(properties).topic(keyspace, name)


def is_shortened(properties: AgentProperties, table: str) -> bool:
    """Whether the table's topic name is shortened because it would be too long."""
    whole = len(properties.topic_prefix) + len(properties.topic_delimiter) + len(table)
    return whole > len(table_topic(properties, table))


def suffixed_columns(properties: AgentProperties, schema: Schema) -> tuple[str, ...]:
    """Lists published columns whose names get a suffix in events, with the suffixed names."""
    found = _format(properties).suffixed_columns(schema)
    return tuple(f"{column} as {name}" for column, name in found)


def _format(properties: AgentProperties) -> EventFormat:
    return EventFormat(
        topic_prefix=properties.topic_prefix,
        topic_delimiter=properties.topic_delimiter,
        cluster="",
        node_id="",
        include=properties.table_include_list,
        exclude=properties.table_exclude_list,
        names=properties.names,
        key=properties.written("key"),
        value=properties.written("value"),
    )


logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Unmatched:
    """An entry of a table or column list that matches nothing."""

    name: str
    """Name of the property."""
    entry: str
    reason: str


@dataclass(frozen=True, slots=True)
class Publication:
    """The tables that the agent publishes, and related findings."""

    captured: tuple[str, ...] = ()
    """Tables with `cdc = true`, as `keyspace.table`, without skipped counter tables."""
    published: tuple[str, ...] = ()
    """Captured tables that the lists include."""
    unmatched: tuple[Unmatched, ...] = ()
    counters: tuple[str, ...] = ()
    """Skipped counter tables with `cdc = true`."""
    opaque: tuple[str, ...] = ()
    """Published columns with types that are too large, so that inner values become bytes."""
    suffixed: tuple[str, ...] = ()
    """Published columns whose names get a suffix in events, with the suffixed names."""


def publication_of(schema: Schema, properties: AgentProperties) -> Publication:
    tables = [table for table in schema.tables() if table.kind == "table"]
    names = {f"{table.keyspace}.{table.name}": table for table in tables}
    captured = sorted(
        name
        for name, table in names.items()
        if table.cdc and (properties.counter_events == "shards" or not table.counter)
    )
    include, exclude = properties.table_include_list, properties.table_exclude_list
    published = [name for name in captured if is_published(name, include, exclude)]
    return Publication(
        tuple(captured),
        tuple(published),
        (
            *_unmatched_tables("table.include.list", include, captured, names),
            *_unmatched_tables("table.exclude.list", exclude, names, names),
            *_unmatched_columns(schema, properties),
        ),
        tuple(
            sorted(
                name
                for name, table in names.items()
                if table.cdc and table.counter and properties.counter_events == "skip"
            )
        ),
        tuple(f"{name}.{column}" for name in published for column in names[name].opaque_columns),
        suffixed_columns(properties, schema),
    )


def create_publication(properties: AgentProperties) -> Callable[[Schema], Publication]:
    """Returns `publication_of` with a cache of one entry, for the latest schema."""
    known: list[tuple[Schema, Publication]] = []

    def publication(schema: Schema) -> Publication:
        last = known[-1] if known else None
        if last is None or last[0] is not schema:
            last = (schema, publication_of(schema, properties))
            before = known[-1][1].suffixed if known else ()
            for column in sorted(set(last[1].suffixed) - set(before)):
                logger.warning(
                    "a column gets a suffix in events, as an older column uses its name: %s", column
                )
            known[:] = [last]
        return last[1]

    return publication


def _unmatched_tables(
    name: str, patterns: Iterable[str], wanted: Iterable[str], known: Iterable[str]
) -> Iterator[Unmatched]:
    for pattern in patterns:
        if any(is_published(table, (pattern,), ()) for table in wanted):
            continue
        uncaptured = [table for table in known if is_published(table, (pattern,), ())]
        if uncaptured:
            reason = f"it matches only tables without cdc = true: {first_names(uncaptured)}"
        else:
            reason = "it matches no table"
        yield Unmatched(name, pattern, reason)


def _unmatched_columns(schema: Schema, properties: AgentProperties) -> Iterator[Unmatched]:
    entries = properties.field_exclude_list
    if not entries:
        return
    keys: set[tuple[str, str, str]] = set()
    others: set[tuple[str, str, str]] = set()
    for table in orjson.loads(schema.to_stored())["tables"]:
        place = (table["keyspace"], table["name"])
        keys |= {(*place, each["name"]) for each in table["partition_key"] + table["clustering"]}
        others |= {(*place, each["name"]) for each in table["static"] + table["regular"]}
    for entry, column in zip(entries, properties.excluded_columns, strict=True):
        if column in others:
            continue
        reason = "columns of the primary key are always published"
        yield Unmatched(
            "field.exclude.list", entry, reason if column in keys else "there is no such column"
        )
