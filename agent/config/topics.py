"""Topics of tables."""

from agent.config.model import AgentProperties
from commitlog import EventFormat


def table_topic(properties: AgentProperties, table: str) -> str:
    """The topic of `keyspace.table`, as events have it."""
    keyspace, _, name = table.partition(".")
    named = EventFormat(
        topic_prefix=properties.topic_prefix,
        topic_delimiter=properties.topic_delimiter,
        cluster="",
        node_id="",
    )
    return named.topic(keyspace, name)


def is_shortened(properties: AgentProperties, table: str) -> bool:
    """Whether the name of its topic would be too long."""
    whole = len(properties.topic_prefix) + len(properties.topic_delimiter) + len(table)
    return whole > len(table_topic(properties, table))
