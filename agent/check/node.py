"""Checks of the node: connection, settings, captured tables."""

from collections.abc import Iterator
from pathlib import Path

from agent.cdc_raw.quota import Quota
from agent.config.loader import AgentConfig
from agent.config.node_settings import NodeSettings
from agent.node.connection import NodeFacts
from agent.node.host_ids import METADATA_LOG
from agent.node.settings import grants
from sidecar.check.check import Finding, fault, ok, warning
from sidecar.errors import AccessDeniedError, ConfigError, SidecarError

_PROMPT_MS = 1000.0


def check_node_identity(config: AgentConfig, facts: NodeFacts | None) -> Iterator[Finding]:
    if facts is not None:
        yield ok(
            "node",
            f"Cassandra {facts.release_version} at {', '.join(config.hosts)}:{config.port} "
            f"answers: host id {facts.host_id}, cluster {facts.cluster_name}.",
            code="node_answers",
        )


def check_host_id(
    config: AgentConfig, facts: NodeFacts | None, node_id: str | None, reason: str
) -> Iterator[Finding]:
    """Reports `reason`: why the node's former host id, `node_id`, cannot be verified. Yields
    nothing if `reason` is empty."""
    if facts is None or not reason:
        return
    role = config.properties.cassandra_username
    remedy = f"Let the agent's role read {METADATA_LOG}."
    if role is not None:
        remedy = f"As a superuser: {grants(role, [METADATA_LOG])}"
    yield fault(
        "node",
        f"The node uses the Cassandra 6.0 host id {facts.host_id}. The agent resumes from offsets "
        f"of an earlier host id, but cannot verify that the node used that id: {reason}",
        f"{remedy} Or set node.id={node_id} if it is the same node. If the node was replaced: "
        "agent offsets reset --snapshots",
        code="host_id_unverified",
    )


def check_node_error(error: SidecarError) -> Iterator[Finding]:
    match error:
        case AccessDeniedError():
            yield fault(
                "node",
                str(error),
                "Correct cassandra.username and cassandra.password. Until then the agent exits "
                "with code 4 at its start.",
                code="node_access_denied",
            )
        case ConfigError():
            yield fault(
                "node",
                str(error),
                "Correct cassandra.hosts or cassandra.ssl.*. Until then the agent exits with code "
                "2.",
                code="node_settings_invalid",
            )
        case _:
            yield fault(
                "node",
                str(error),
                "Start the node, or correct cassandra.hosts and cassandra.port. The agent waits.",
                code="node_unavailable",
            )


def check_schema(config: AgentConfig, tables: int | None, error: SidecarError | None) -> Finding:
    """Reports whether the schema can be read; `tables` is the number of tables."""
    file = config.properties.schema_file
    if error is None:
        where = "the node" if file is None else f"{file}, without a connection to the node"
        return ok("schema", f"Read {tables} tables from {where}.")
    if file is not None:
        return fault(
            "schema",
            str(error),
            f"cqlsh -e 'DESCRIBE SCHEMA WITH INTERNALS' > {file}",
            code="schema_file_unusable",
        )
    return fault(
        "schema",
        str(error),
        "Retry; if the error persists, read the node's log.",
        code="schema_unreadable",
    )


def check_settings(settings: NodeSettings) -> Iterator[Finding]:
    """Checks the settings for CDC, latency and repair."""
    if settings.cdc_enabled:
        yield ok("cdc_enabled", "Change data capture is on.")
    else:
        yield fault(
            "cdc_enabled",
            "Change data capture is off on this node.",
            "Set `cdc_enabled: true` in cassandra.yaml and restart the node.",
            code="cdc_disabled",
        )
    yield from _latency(settings)
    if settings.cdc_on_repair_enabled:
        message = "Repair streams are captured: the agent publishes repaired rows again."
    else:
        message = "Repair streams are not captured."
    yield ok("repair", message)


def unknown_limit(quota: Quota, directory: Path) -> Finding:
    """Warns that the limit of `cdc_raw` is unknown. Events are still delivered."""
    return warning(
        "settings",
        f"The node's limit for {directory} is unknown, so the agent cannot warn before it is full: "
        f"{quota.error}",
        quota.remedy,
        code="cdc_raw_quota_unknown",
    )


def _latency(settings: NodeSettings) -> Iterator[Finding]:
    period_ms = settings.commitlog_sync_period_ms
    if settings.commitlog_sync == "periodic":
        period_ms = 10_000.0 if period_ms is None else period_ms
    if not period_ms:
        yield ok(
            "latency",
            f"`commitlog_sync: {settings.commitlog_sync}`: the node syncs each write at once.",
        )
        return
    message = (
        f"The node syncs its log every {period_ms:g} ms, which delays events by up to that time."
    )
    if period_ms <= _PROMPT_MS:
        yield ok("latency", message)
    else:
        yield warning(
            "latency",
            message,
            "For a lower latency set `commitlog_sync_period` to 1s or less.",
            code="commitlog_sync_period_long",
        )


def check_cdc_raw_directory(config: AgentConfig, settings: NodeSettings) -> Iterator[Finding]:
    """Checks that the node and the agent use the same `cdc_raw`."""
    used = settings.cdc_raw_directory
    if used is not None and used.resolve() != config.cdc_raw_directory.resolve():
        yield fault(
            "cdc_raw",
            f"The node uses {used} and the agent reads {config.cdc_raw_directory}.",
            "Correct cassandra.config or cdc.raw.directory so that both use the same directory.",
            code="cdc_raw_directory_differs",
        )
