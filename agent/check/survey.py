"""All checks in turn, before the agent runs or beside it. Nothing is changed."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agent.check.directories import check_directories
from agent.check.keys import check_keys
from agent.check.node import (
    check_agreement,
    check_answer,
    check_counters,
    check_settings,
    check_tables,
    running_settings,
)
from agent.check.progress import check_progress
from agent.check.store import check_store
from agent.config import AgentConfig
from agent.config.node_settings import NodeSettings
from agent.config.patterns import is_published
from agent.schema import NodeIdentity, node_connection
from agent.schema.driver import schema_rows
from agent.schema.file import SchemaFile
from commitlog import Schema, SchemaError
from sidecar.check.broker import check_broker, topic_name
from sidecar.check.finding import Finding, fault, ok, warning
from sidecar.errors import ConfigError, SidecarError


@dataclass
class _Seen:
    """What the checks of the node and the schema leave for the others."""

    node_id: str | None
    settings: NodeSettings | None
    schema: Schema | None = None


def run_checks(config: AgentConfig) -> Iterator[Finding]:
    """Each finding as it is made; asking a node or a broker that is away takes some seconds."""
    properties = config.properties
    for sentence in config.warnings:
        yield warning("configuration", sentence, "See docs/configuration.md.")
    seen = _Seen(properties.node_id, config.node_settings)
    if properties.schema_file is None:
        yield from _ask_node(config, seen)
    else:
        yield from _read_schema_file(properties.schema_file, seen)
    if seen.settings is not None:
        yield from check_settings(seen.settings)
    else:
        yield warning(
            "cdc_enabled",
            "The node's settings are not known: there is no cassandra.config and no answer.",
            "Set cassandra.config.",
        )
    yield from check_directories(config, seen.settings)
    yield from check_keys(config)
    yield from check_store(config)
    topics: list[str] = []
    if seen.schema is not None:
        captured = _captured(seen.schema, counters=False)
        counters = _captured(seen.schema, counters=True)
        if properties.counter_events == "skip":
            yield from check_counters(counters)
        else:
            captured = sorted(captured + counters)
        lists = (properties.table_include_list, properties.table_exclude_list)
        published = [table for table in captured if is_published(table, *lists)]
        yield from check_tables(captured, published)
        topics = [topic_name(f"{properties.topic_prefix}.{table}") for table in published]
    if properties.sink == "kafka":
        yield from check_broker(properties, topics)
    yield from check_progress(config, seen.node_id)


def _ask_node(config: AgentConfig, seen: _Seen) -> Iterator[Finding]:
    connection = node_connection(config)
    try:
        facts, findings = check_answer(connection)
        yield from findings
        if facts is None:
            return
        seen.node_id = seen.node_id or facts.host_id
        running = running_settings(connection, facts)
        if running is not None:
            seen.settings = running
            yield from check_agreement(config, running)
        seen.schema = Schema.from_system_rows(schema_rows(connection))
    except (SidecarError, SchemaError) as error:
        yield fault("node", str(error), "Try again; if it stays, look into the node's log.")
    finally:
        connection.close()


def _read_schema_file(path: Path, seen: _Seen) -> Iterator[Finding]:
    try:
        seen.schema = SchemaFile(path, NodeIdentity("", "")).fetch().schema
    except ConfigError as error:
        yield fault("schema", str(error), "It takes what DESCRIBE SCHEMA WITH INTERNALS prints.")
        return
    yield ok("schema", f"{path} has {len(seen.schema)} tables; the node is not asked.")


def _captured(schema: Schema, *, counters: bool) -> list[str]:
    tables = [table for table in schema.tables() if table.cdc and table.counter is counters]
    return sorted(f"{table.keyspace}.{table.name}" for table in tables)
