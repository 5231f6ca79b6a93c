"""The checks of the Cassandra agent. `agent check` and the start of `agent run` run most of them.
A running agent repeats checks whose result can change."""

import os
from collections.abc import Iterator

from agent.cdc_raw.observation import Observation, observe
from agent.check.directories import (
    check_cdc_raw_usage,
    check_directory_rights,
    check_file_systems,
    check_foreign_files,
    check_offsets,
)
from agent.check.node import check_node, check_node_settings
from agent.check.probe import AgentProbe
from agent.check.segments import check_keys, check_segments
from agent.check.store import check_store, store_text
from agent.check.tables import (
    check_drops,
    check_snapshot_rights,
    check_tables,
    check_topic_names,
    check_truncations,
)
from agent.check.unlogged import check_unlogged_writes
from agent.config.loader import directory_problems
from agent.quarantine.files import DIRECTORY
from agent.quarantine.quarantine import Quarantine
from sidecar.check.broker import broker_text, check_broker, check_compaction, check_topics
from sidecar.check.check import Check, Finding
from sidecar.check.clear_text import Login, check_clear_text, shared_logins
from sidecar.check.environment import (
    check_configuration,
    check_directories,
    check_quarantine,
    check_sink,
    check_token,
    check_tracing,
    check_transform,
)
from sidecar.check.listener import check_address, check_host
from sidecar.check.schema_registry import check_registry, registry_text

_STORE_S, _STORE_AGAIN_S = 600.0, 60.0


def _directories(probe: AgentProbe) -> Iterator[Finding]:
    config, properties = probe.config, probe.config.properties
    yield from check_directories(
        directory_problems(config),
        f"{config.cdc_raw_directory}, {properties.relocation_directory} and "
        f"{properties.offset_directory} are readable and writable.",
    )


def _quarantine(probe: AgentProbe) -> Iterator[Finding]:
    properties = probe.config.properties
    directory = properties.relocation_directory / DIRECTORY
    yield from check_quarantine(Quarantine(directory, properties.quarantine_max_bytes, ""))


def _cdc_raw(probe: AgentProbe) -> Iterator[Finding]:
    if (seen := _observation(probe)) is not None:
        yield from check_segments(probe.config.cdc_raw_directory, seen, probe.config.node_settings)
        yield from check_foreign_files(probe.config, seen)


def _keys(probe: AgentProbe) -> Iterator[Finding]:
    if (seen := _observation(probe)) is not None:
        yield from check_keys(probe.config, seen)


def _room(probe: AgentProbe) -> Iterator[Finding]:
    yield from check_file_systems(probe.config, probe.settings)
    if (seen := _observation(probe)) is not None:
        yield from check_cdc_raw_usage(probe.config, seen, probe.settings)


def _rights(probe: AgentProbe) -> Iterator[Finding]:
    if (publication := probe.publication) is not None:
        node = probe.node()
        yield from check_snapshot_rights(
            probe.config, node.rights, publication.published, node.masked
        )


def _tables(probe: AgentProbe) -> Iterator[Finding]:
    if (publication := probe.publication) is not None:
        yield from check_tables(publication)


def _unlogged(probe: AgentProbe) -> Iterator[Finding]:
    if (unlogged := probe.unlogged) is not None:
        yield from check_unlogged_writes(unlogged)


def _truncations(probe: AgentProbe) -> Iterator[Finding]:
    yield from check_truncations(probe.truncated)
    if probe.node().table_ids is not None:
        yield from check_drops(probe.dropped, probe.present_tables)


def _registry(probe: AgentProbe) -> Iterator[Finding]:
    properties = probe.config.properties
    subject = f"{properties.topic_prefix}-value"
    yield from check_registry(properties.registries(), subject, probe.registrar)


def _credentials(probe: AgentProbe) -> Iterator[Finding]:
    config, properties = probe.config, probe.config.properties
    logins = list(
        shared_logins(
            properties,
            properties.registries(),
            os.environ,
            s3_endpoint=properties.s3_endpoint,
            traces=properties.tracing_enabled,
        )
    )
    if properties.cassandra_password is not None and properties.schema_file is None:
        remedy = "Set cassandra.ssl.enabled=true, and enable client_encryption_options of the node."
        is_encrypted = properties.cassandra_ssl_enabled
        logins.append(Login("cassandra.password", config.hosts, is_encrypted, remedy))
    yield from check_clear_text(logins)


def _progress(probe: AgentProbe) -> Iterator[Finding]:
    yield from check_offsets(probe.config, probe.node().node_id)


def _observation(probe: AgentProbe) -> Observation | None:
    """None if the directory cannot be listed, which `check_directories` reports."""
    try:
        return observe(probe.config.cdc_raw_directory)
    except OSError:
        return None


def _node_text(probe: AgentProbe) -> str:
    config = probe.config
    if config.properties.schema_file is not None:
        return ""
    return f"the node {', '.join(config.hosts)}:{config.port} (connection timeout 5 s)"


def _node_and_broker_text(probe: AgentProbe) -> str:
    return _node_text(probe) or broker_text(probe.config.properties)


CHECKS: tuple[Check[AgentProbe], ...] = (
    Check(
        "configuration",
        lambda probe: check_configuration(probe.config.warnings, "agent"),
        interval_s=None,
    ),
    Check("event.transform", lambda probe: check_transform(probe.config.properties)),
    Check(
        "tracing",
        lambda probe: check_tracing(probe.config.properties.tracing_enabled),
        runs_in_agent=False,
    ),
    Check("http.token.file", lambda probe: check_token(probe.config.properties)),
    Check("credentials", _credentials, interval_s=None),
    Check("http", lambda probe: check_address(probe.config.properties), runs_in_agent=False),
    Check("http", lambda probe: check_host(probe.config.properties), runs_in_command=False),
    Check("sink", lambda probe: check_sink(probe.config.properties)),
    Check("directories", _directories),
    Check("directory rights", lambda probe: check_directory_rights(probe.config)),
    Check("quarantine", _quarantine),
    Check("segments", _cdc_raw),
    Check("keystore", _keys, interval_s=None),
    Check("node", check_node, server=_node_text),
    Check("settings", check_node_settings, server=_node_text),
    Check("cdc_raw", _room, server=_node_text),
    Check("rights", _rights, server=_node_text, runs_in_agent=False),
    Check("tables", _tables, server=_node_text),
    Check("truncations", _truncations, server=_node_text),
    Check("unlogged writes", _unlogged, server=_node_text, runs_in_agent=False),
    Check("offsets", _progress, server=_node_text, runs_in_agent=False),
    Check("broker", check_broker, server=lambda probe: broker_text(probe.config.properties)),
    Check("topic names", check_topic_names, server=_node_and_broker_text),
    Check("topics", check_topics, server=_node_and_broker_text),
    Check(
        "cleanup.policy",
        lambda probe: check_compaction(probe, probe.event_topics),
        server=_node_and_broker_text,
    ),
    Check(
        "schema_registry",
        _registry,
        server=lambda probe: registry_text(probe.config.properties.registries()),
    ),
    Check(
        "transfer",
        lambda probe: check_store(probe.config),
        server=lambda probe: store_text(probe.config),
        interval_s=_STORE_S,
        retry_s=_STORE_AGAIN_S,
    ),
)
"""Checks in output order: first local checks, then servers."""
