"""Checks of the topic names of tables, from the schema and the configuration."""

from collections.abc import Iterator

from agent.check.probe import AgentProbe
from agent.config.topics import is_shortened
from sidecar.check.finding import Finding, first_names, warning
from sidecar.check.topic_names import check_collisions
from sidecar.properties.topic_names import LONGEST_TOPIC

_APART = (
    "Set topic.delimiter=-, with which the topics of tables differ, or exclude all but one of the "
    "tables (table.exclude.list). If a property names the topic, choose another name."
)


def check_topic_names(probe: AgentProbe) -> Iterator[Finding]:
    """Whether Kafka accepts every name. The broker only adds the names of its topics."""
    properties = probe.config.properties
    if properties.sink != "kafka":
        return
    uses = probe.topic_uses
    yield from check_collisions(uses, probe.broker().topics, _APART)
    publication = probe.publication
    tables = () if publication is None else publication.published
    shortened = [use for use in uses if use.source in tables]
    shortened = [use for use in shortened if is_shortened(properties, use.source)]
    if shortened:
        yield warning(
            "topics",
            f"The names of {len(shortened)} topics would have more than {LONGEST_TOPIC} "
            "characters, so they end with a hash of the table: "
            f"{first_names([str(use) for use in shortened])}.",
            "Shorten topic.prefix if you want whole names, or exclude the tables "
            "(table.exclude.list).",
            code="topic_name_shortened",
        )
