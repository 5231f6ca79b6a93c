"""What the checks of the Cassandra agent know: the configuration, and the answers of the node and
the broker.

The command asks for the answers. A running agent has most of them: who the node is and its schema
are known to the schema's holder, so the node is asked for its settings alone.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from agent.check.publication import Publication, publication_of
from agent.config import AgentConfig
from agent.config.node_settings import NodeSettings
from agent.node.connect import node_connection
from agent.node.connection import NodeConnection, NodeFacts
from agent.node.rights import Rights, role_rights
from agent.node.running_settings import running_settings
from agent.schema import NodeIdentity, SchemaHolder
from agent.schema.node_schema import schema_rows
from agent.schema.schema_file import SchemaFile
from commitlog import Schema, SchemaError
from sidecar.check.broker import BrokerAnswer, ask_broker, broker_of_run, topic_name
from sidecar.check.cached_answer import CachedAnswer
from sidecar.errors import SidecarError, UnavailableError
from sidecar.sinks.base import SinkState


@dataclass(frozen=True, slots=True)
class NodeAnswer:
    """What is known of the node, or why it is not."""

    facts: NodeFacts | None = None
    """None with `schema.file`, and in a running agent that the node does not answer."""
    node_id: str | None = None
    """None while it is not known."""
    schema: Schema | None = None
    settings: NodeSettings | None = None
    """Those that the node itself reports; None before 4.0, and where it may not be asked."""
    rights: Rights | None = None
    """Of the agent's role; None where the node does not check rights, and in a running agent."""
    error: SidecarError | None = None
    """Why the node does not answer, or does not accept the agent."""
    settings_error: SidecarError | None = None
    schema_error: SidecarError | None = None


@dataclass(frozen=True, slots=True)
class AgentProbe:
    """What the checks read. Answers are asked for when a check needs them, and once."""

    config: AgentConfig
    node: Callable[[], NodeAnswer]
    broker: Callable[[], BrokerAnswer]

    @property
    def settings(self) -> NodeSettings | None:
        """Those that the node reports, else those of `cassandra.config`."""
        return self.node().settings or self.config.node_settings

    @property
    def publication(self) -> Publication | None:
        """What is published; None while no schema is known."""
        schema = self.node().schema
        return None if schema is None else publication_of(schema, self.config.properties)

    @property
    def topics(self) -> list[str]:
        """Those that events go to, as far as the tables are known."""
        publication = self.publication
        prefix = self.config.properties.topic_prefix
        tables = () if publication is None else publication.published
        return [topic_name(f"{prefix}.{table}") for table in tables]


def command_probe(config: AgentConfig) -> AgentProbe:
    """That of the command: everything is asked for."""
    return AgentProbe(
        config,
        CachedAnswer(partial(query_node, config)),
        CachedAnswer(partial(ask_broker, config.properties)),
    )


def running_probe(
    config: AgentConfig, holder: SchemaHolder, sink: Callable[[], SinkState | None]
) -> AgentProbe:
    """That of a running agent. `sink` gives the state of its sink, None before it is open."""
    return AgentProbe(
        config,
        CachedAnswer(lambda: _completed(config, _known(holder))),
        CachedAnswer(lambda: broker_of_run(sink(), config.properties)),
    )


def _known(holder: SchemaHolder) -> NodeAnswer:
    """What the holder knows without a question."""
    identity, error = holder.identity, holder.last_error
    return NodeAnswer(
        node_id=None if identity is None else identity.node_id,
        schema=holder.latest(),
        error=None if error is None else UnavailableError(error),
    )


def query_node(config: AgentConfig) -> NodeAnswer:
    """All that the node says, over one connection; of `schema.file` where that is set."""
    properties = config.properties
    if properties.schema_file is not None:
        try:
            schema = SchemaFile(properties.schema_file, NodeIdentity("", "")).fetch().schema
        except SidecarError as error:
            return NodeAnswer(node_id=properties.node_id, schema_error=error)
        return NodeAnswer(node_id=properties.node_id, schema=schema)
    try:
        connection = node_connection(config)
    except SidecarError as error:
        return NodeAnswer(node_id=properties.node_id, error=error)
    try:
        answer = _asked(config, connection, NodeAnswer(node_id=properties.node_id))
        if answer.error is not None:
            return answer
        try:
            schema = Schema.from_system_rows(schema_rows(connection))
        except SidecarError as error:
            return replace(answer, schema_error=error)
        except SchemaError as error:
            # A table that is dropped at this moment has rows in some of the tables only.
            return replace(answer, schema_error=UnavailableError(f"The schema: {error}"))
        answer = replace(answer, schema=schema)
        role = properties.cassandra_username
        return answer if role is None else replace(answer, rights=role_rights(connection, role))
    finally:
        connection.close()


def _completed(config: AgentConfig, known: NodeAnswer) -> NodeAnswer:
    if config.properties.schema_file is not None or known.error is not None:
        # A node that does not answer the holder is asked by the holder alone.
        return known
    connection = node_connection(config)
    try:
        return _asked(config, connection, known)
    finally:
        connection.close()


def _asked(config: AgentConfig, connection: NodeConnection, known: NodeAnswer) -> NodeAnswer:
    """With facts and settings."""
    try:
        facts = connection.facts()
    except SidecarError as error:
        return replace(known, error=error)
    answer = replace(known, facts=facts, node_id=known.node_id or facts.host_id)
    try:
        return replace(answer, settings=running_settings(connection, facts))
    except SidecarError as error:
        return replace(answer, settings_error=error)
