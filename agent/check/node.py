"""Checks of the node: connection, settings, captured tables."""

from collections.abc import Iterator
from pathlib import Path

from agent.cdc_raw.quota import Quota
from agent.check.probe import AgentProbe
from agent.config.loader import AgentConfig
from agent.config.node_settings import NodeSettings
from agent.node.connection import NodeFacts
from agent.node.host_ids import METADATA_LOG
from agent.node.settings import grant_sentence, unknown_quota
from sidecar.check.check import Finding, fault, ok, warning
from sidecar.errors import AccessDeniedError, ConfigError, SidecarError

_PROMPT_MS = 1000.0


def check_node(probe: AgentProbe) -> Iterator[Finding]:
    """Reports whether the node and its schema, or `schema.file`, can be read."""
    config, answer = probe.config, probe.node()
    facts = answer.facts
    if facts is not None:
        yield ok(
            "node",
            f"Cassandra {facts.release_version} at {', '.join(config.hosts)}:{config.port} "
            f"answers: host id {facts.host_id}, cluster {facts.cluster_name}.",
            code="node_answers",
        )
    yield from check_host_id(config, facts, answer.node_id, answer.unverified)
    if answer.error is not None:
        yield _node_error(answer.error)
    file = config.properties.schema_file
    problem = str(answer.schema_error)
    if answer.schema_error is not None and file is not None:
        remedy = f"cqlsh -e 'DESCRIBE SCHEMA WITH INTERNALS' > {file}"
        yield fault("schema", problem, remedy, code="schema_file_unusable")
    elif answer.schema_error is not None:
        remedy = "Retry; if the error persists, read the node's log."
        yield fault("schema", problem, remedy, code="schema_unreadable")
    elif answer.schema is not None:
        where = "the node" if file is None else f"{file}, without a connection to the node"
        yield ok("schema", f"Read {len(answer.schema)} tables from {where}.")


def check_host_id(
    config: AgentConfig, facts: NodeFacts | None, node_id: str | None, reason: str
) -> Iterator[Finding]:
    """Reports `reason`: why the node's former host id, `node_id`, cannot be verified. Yields
    nothing if `reason` is empty."""
    if facts is None or not reason:
        return
    yield fault(
        "node",
        f"The node uses the Cassandra 6.0 host id {facts.host_id}. The agent resumes from offsets "
        f"of an earlier host id, but cannot verify that the node used that id: {reason}",
        f"{grant_sentence(config, METADATA_LOG)} Or set node.id={node_id} if it is the same node. "
        "If the node was replaced: agent offsets reset --snapshots",
        code="host_id_unverified",
    )


def _node_error(error: SidecarError) -> Finding:
    if isinstance(error, AccessDeniedError):
        return fault(
            "node",
            str(error),
            "Correct cassandra.username and cassandra.password. Until then the agent exits with "
            "code 4 at its start.",
            code="node_access_denied",
        )
    if isinstance(error, ConfigError):
        return fault(
            "node",
            str(error),
            "Correct cassandra.hosts or cassandra.ssl.*. Until then the agent exits with code 2.",
            code="node_settings_invalid",
        )
    return fault(
        "node",
        str(error),
        "Start the node, or correct cassandra.hosts and cassandra.port. The agent waits.",
        code="node_unavailable",
    )


def check_node_settings(probe: AgentProbe) -> Iterator[Finding]:
    answer, settings = probe.node(), probe.settings
    if settings is not None:
        yield from _cdc_raw_directory(probe.config, settings)
        yield from check_settings(settings)
    elif answer.error is None:
        # `check_node` already reports an unavailable node.
        quota = unknown_quota(probe.config, answer.facts, answer.settings_error)
        yield unknown_limit(quota, probe.config.cdc_raw_directory)


def check_settings(settings: NodeSettings) -> Iterator[Finding]:
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


def _cdc_raw_directory(config: AgentConfig, settings: NodeSettings) -> Iterator[Finding]:
    used = settings.cdc_raw_directory
    if used is not None and used.resolve() != config.cdc_raw_directory.resolve():
        yield fault(
            "cdc_raw",
            f"The node uses {used} and the agent reads {config.cdc_raw_directory}.",
            "Correct cassandra.config or cdc.raw.directory so that both use the same directory.",
            code="cdc_raw_directory_differs",
        )
