"""Input of the checks: the configuration, and answers from the node and the broker.

The command queries both. A running agent already knows the node's identity and schema, and queries
only further facts, such as its settings.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from agent.check.publication import Publication, publication_of, table_topic
from agent.check.unlogged import UnloggedWrites, unlogged_writes
from agent.config.loader import AgentConfig
from agent.config.node_settings import NodeSettings
from agent.node.connection import NodeConnection, NodeFacts, node_connection
from agent.node.host_ids import known_node, offsets_owner
from agent.node.settings import role_rights, running_settings
from agent.node.truncations import (
    Acknowledgements,
    Drop,
    PublishedTables,
    Truncation,
    read_table_ids,
    read_truncations,
)
from agent.schema import NodeIdentity, SchemaHolder
from agent.schema.node_schema import schema_rows
from agent.schema.source import SchemaFile
from agent.schema.write_options import WriteOptions, read_write_options
from commitlog import Schema, SchemaError
from commitlog.masking import Rights, masked_columns
from sidecar.check.broker import BrokerAnswer, ask_broker, broker_of_run
from sidecar.check.check import CachedAnswer
from sidecar.check.topic_names import TopicUse
from sidecar.errors import SidecarError, UnavailableError
from sidecar.schema_registry.registrar import Registrar
from sidecar.sinks.base import SinkState


@dataclass(frozen=True, slots=True)
class NodeAnswer:
    """Facts about the node, or errors in their place."""

    facts: NodeFacts | None = None
    """None with `schema.file`, and if the node does not answer."""
    node_id: str | None = None
    """None if unknown."""
    unverified: str = ""
    """Why `node_id` cannot be verified as the node's host id before its upgrade to 6.0."""
    schema: Schema | None = None
    write_options: WriteOptions | None = None
    settings: NodeSettings | None = None
    """Reported by the node; None before Cassandra 4.0, and without permission."""
    rights: Rights | None = None
    """Permissions of the agent's role; None without authorization, and in a running agent."""
    masked: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Masked columns by table."""
    truncations: tuple[Truncation, ...] = ()
    table_ids: frozenset[str] | None = None
    """Ids of all tables of the node; None if unknown."""
    error: SidecarError | None = None
    """Why the node does not answer or rejects the agent."""
    settings_error: SidecarError | None = None
    schema_error: SidecarError | None = None


@dataclass(frozen=True, slots=True)
class AgentProbe:
    """Queries each server at most once, when a check first needs its answer."""

    config: AgentConfig
    node: Callable[[], NodeAnswer]
    broker: Callable[[], BrokerAnswer]
    registrar: Registrar | None = None
    """None in the command."""

    @property
    def settings(self) -> NodeSettings | None:
        """Settings reported by the node, or else settings from `cassandra.config`."""
        return self.node().settings or self.config.node_settings

    @property
    def publication(self) -> Publication | None:
        """The published tables; None if the schema is unknown."""
        schema = self.node().schema
        return None if schema is None else publication_of(schema, self.config.properties)

    @property
    def unlogged(self) -> UnloggedWrites | None:
        """Writes to published tables that bypass the segments; None if the schema is unknown."""
        publication = self.publication
        if publication is None:
            return None
        return unlogged_writes(
            self.node().write_options,
            publication.published,
            captures_transactions=self.config.properties.accord_journal_enabled,
        )

    @property
    def truncated(self) -> dict[str, Truncation]:
        """Unacknowledged truncations by published table."""
        schema, publication = self.node().schema, self.publication
        if schema is None or publication is None:
            return {}
        tables = ((table.id, f"{table.keyspace}.{table.name}") for table in schema.tables())
        names = {key: name for key, name in tables if name in publication.published}
        acknowledged = Acknowledgements(self.config.properties.offset_directory)
        return acknowledged.open_ones(self.node().truncations, names)

    @property
    def dropped(self) -> dict[str, Drop]:
        """Unacknowledged drops of tables that the agent published."""
        directory = self.config.properties.offset_directory
        return Acknowledgements(directory).open_drops(PublishedTables(directory).dropped())

    @property
    def present_tables(self) -> frozenset[str]:
        schema, present = self.node().schema, self.node().table_ids
        if schema is None or present is None:
            return frozenset()
        return frozenset(_names_by_id(schema, present).values())

    @property
    def topic_uses(self) -> list[TopicUse]:
        """Topics of the known published tables, and the other configured topics."""
        properties = self.config.properties
        further = {
            "schema.changes.topic": properties.schema_topic,
            "watermark.topic": properties.watermark_topic,
            "errors.deadletterqueue.topic.name": properties.dead_letter_topic,
        }
        return [
            *self._event_uses,
            *(TopicUse(topic, name) for name, topic in further.items() if topic is not None),
        ]

    @property
    def topics(self) -> list[str]:
        """Names of the topics in `topic_uses` except for the dead letter topic."""
        dead_letters = self.config.properties.dead_letter_topic
        return [use.topic for use in self.topic_uses if use.topic != dead_letters]

    @property
    def event_topics(self) -> list[str]:
        return [use.topic for use in self._event_uses]

    @property
    def _event_uses(self) -> list[TopicUse]:
        publication, properties = self.publication, self.config.properties
        tables = () if publication is None else publication.published
        return [TopicUse(table_topic(properties, table), table) for table in tables]


def command_probe(config: AgentConfig) -> AgentProbe:
    return AgentProbe(
        config,
        CachedAnswer(partial(query_node, config)),
        CachedAnswer(partial(ask_broker, config.properties)),
    )


def running_probe(
    config: AgentConfig,
    holder: SchemaHolder,
    sink: Callable[[], SinkState],
    registrar: Registrar | None = None,
) -> AgentProbe:
    """Creates the probe of a running agent. `sink` returns the state of its sink."""
    config = config.reread()
    return AgentProbe(
        config,
        CachedAnswer(lambda: _complete(config, holder)),
        CachedAnswer(lambda: broker_of_run(sink(), config.properties)),
        registrar,
    )


def query_node(config: AgentConfig) -> NodeAnswer:
    """Queries the node over one connection, or reads `schema.file`."""
    properties = config.properties
    if properties.schema_file is not None:
        try:
            known = SchemaFile(properties.schema_file, NodeIdentity("", "")).fetch()
        except SidecarError as error:
            return NodeAnswer(node_id=properties.node_id, schema_error=error)
        return NodeAnswer(
            node_id=properties.node_id, schema=known.schema, write_options=known.write_options
        )
    try:
        connection = node_connection(config)
    except SidecarError as error:
        return NodeAnswer(node_id=properties.node_id, error=error)
    try:
        answer = _query_facts(config, connection, NodeAnswer(node_id=properties.node_id))
        if answer.error is not None or answer.facts is None:
            return answer
        try:
            schema = Schema.from_system_rows(schema_rows(connection))
        except SidecarError as error:
            return replace(answer, schema_error=error)
        except SchemaError as error:
            # The rows are incomplete while the node drops a table.
            return replace(answer, schema_error=UnavailableError(f"The schema: {error}"))
        options = read_write_options(connection, answer.facts)
        answer = replace(answer, schema=schema, write_options=options)
        rights = role_rights(connection, properties.cassandra_username)
        try:
            return replace(answer, rights=rights, masked=masked_columns(connection.rows))
        except SidecarError as error:
            return replace(answer, schema_error=error)
    finally:
        connection.close()


def _complete(config: AgentConfig, holder: SchemaHolder) -> NodeAnswer:
    """Adds facts of the node to those that the holder already knows."""
    identity, error = holder.identity, holder.last_error
    known = NodeAnswer(
        node_id=None if identity is None else identity.node_id,
        schema=holder.latest(),
        error=None if error is None else UnavailableError(error),
    )
    if config.properties.schema_file is not None or known.error is not None:
        # The holder retries an unavailable node.
        return known
    connection = node_connection(config)
    try:
        answer = _query_facts(config, connection, known)
        if answer.error is None:
            _note_tables(config, answer)
        return answer
    finally:
        connection.close()


def _note_tables(config: AgentConfig, answer: NodeAnswer) -> None:
    """Stores the tables and truncations that later checks compare against."""
    directory = config.properties.offset_directory
    Acknowledgements(directory).begin(answer.truncations)
    if answer.schema is None or answer.table_ids is None:
        return
    names = _names_by_id(answer.schema, answer.table_ids)
    published = publication_of(answer.schema, config.properties).published
    PublishedTables(directory).note(
        {key: name for key, name in names.items() if name in published}, answer.table_ids
    )


def _names_by_id(schema: Schema, present: Collection[str]) -> dict[str, str]:
    """Table names by id, without dropped tables that a known schema still contains."""
    return {
        each.id: f"{each.keyspace}.{each.name}" for each in schema.tables() if each.id in present
    }


def _query_facts(config: AgentConfig, connection: NodeConnection, known: NodeAnswer) -> NodeAnswer:
    """Adds facts, truncations and settings of the node."""
    try:
        facts = connection.facts()
        answer = replace(
            known,
            facts=facts,
            truncations=read_truncations(connection),
            table_ids=read_table_ids(connection),
        )
        if config.properties.node_id is None:
            owner = known.node_id or offsets_owner(config.properties.offset_directory)
            node = known_node(connection, owner, facts.host_id)
            answer = replace(answer, node_id=node.node_id, unverified=node.unverified)
    except SidecarError as error:
        return replace(known, error=error)
    try:
        return replace(answer, settings=running_settings(connection, facts))
    except SidecarError as error:
        return replace(answer, settings_error=error)
