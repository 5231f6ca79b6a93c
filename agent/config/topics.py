"""Names in events: the topics of tables, and the fields of columns."""

from agent.config.model import AgentProperties
from commitlog import EventFormat, Schema


def table_topic(properties: AgentProperties, table: str) -> str:
    """The topic of `keyspace.table`, as events have it."""
    keyspace, _, name = table.partition(".")
    return _format(properties).topic(keyspace, name)


def is_shortened(properties: AgentProperties, table: str) -> bool:
    """Whether the name of its topic would be too long."""
    whole = len(properties.topic_prefix) + len(properties.topic_delimiter) + len(table)
    return whole > len(table_topic(properties, table))


def suffixed_columns(properties: AgentProperties, schema: Schema) -> tuple[str, ...]:
    """The published columns whose names in events have a suffix, with these names."""
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
