"""The node: whether it answers, how it is set, which tables it captures."""

from collections.abc import Iterator, Mapping, Sequence

from agent.config import AgentConfig
from agent.config.node_settings import NodeSettings, settings_of_node
from agent.schema.connection import NodeConnection, NodeFacts
from sidecar.check.finding import Finding, fault, ok, warning
from sidecar.errors import ConfigError, RefusedError, UnavailableError

_PROMPT_MS = 1000.0
_FIRST_WITH_VIRTUAL_TABLES = 4


def release_of(facts: NodeFacts) -> int:
    """Major release: `5.0.9` gives 5."""
    return int(facts.release_version.split(".", 1)[0])


def check_answer(connection: NodeConnection) -> tuple[NodeFacts | None, list[Finding]]:
    """Who the node is, when it answers."""
    try:
        facts = connection.facts()
    except RefusedError as error:
        return None, [fault("node", str(error), "The agent ends with exit code 4.")]
    except ConfigError as error:
        return None, [fault("node", str(error), "The agent ends with exit code 2.")]
    except UnavailableError as error:
        remedy = "Start the node, or correct cassandra.hosts and cassandra.port; the agent waits."
        return None, [fault("node", str(error), remedy)]
    sentence = (
        f"Cassandra {facts.release_version} at {connection.address} answers: "
        f"host id {facts.host_id}, cluster {facts.cluster_name}."
    )
    return facts, [ok("node", sentence)]


def running_settings(connection: NodeConnection, facts: NodeFacts) -> NodeSettings | None:
    """What the node itself says; None before 4.0, which has no such table."""
    if release_of(facts) < _FIRST_WITH_VIRTUAL_TABLES:
        return None
    rows = connection.rows("SELECT name, value FROM system_views.settings")
    values: Mapping[str, str | None] = {str(row["name"]): row["value"] for row in rows}
    return settings_of_node(f"system_views.settings of {connection.address}", values)


def check_settings(settings: NodeSettings) -> Iterator[Finding]:
    """CDC on, how late events come, what a repair does."""
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
        sentence = "Data that a repair streams is captured too: its events come again."
    else:
        sentence = "Data that a repair streams is not captured."
    yield ok("repair", sentence)


def _latency(settings: NodeSettings) -> Iterator[Finding]:
    period_ms = settings.commitlog_sync_period_ms
    if settings.commitlog_sync == "periodic":
        period_ms = 10_000.0 if period_ms is None else period_ms
    if not period_ms:
        yield ok("latency", f"`commitlog_sync: {settings.commitlog_sync}`: events come at once.")
        return
    sentence = f"The log is synced every {period_ms:g} ms, so events come up to that late."
    if period_ms <= _PROMPT_MS:
        yield ok("latency", sentence)
    else:
        yield warning(
            "latency",
            sentence,
            "Set `commitlog_sync_period` to 1s or less when events are to come sooner.",
        )


def check_agreement(config: AgentConfig, running: NodeSettings) -> Iterator[Finding]:
    """What the running node says against what the agent is configured with."""
    told = running.cdc_raw_directory
    if told is not None and told.resolve() != config.cdc_raw_directory.resolve():
        yield fault(
            "cdc_raw",
            f"The node uses {told} and the agent reads {config.cdc_raw_directory}.",
            "Correct cassandra.config or cdc.raw.directory; both must be the same directory.",
            code="cdc_raw_directory_differs",
        )


def check_counters(counters: Sequence[str]) -> Iterator[Finding]:
    """Counter tables with `cdc = true`, where their updates are skipped."""
    if counters:
        shown = ", ".join(counters[:8]) + (", …" if len(counters) > 8 else "")
        yield ok("tables", f"Counter tables are not published (`counter.events=skip`): {shown}.")


def check_tables(captured: Sequence[str], published: Sequence[str]) -> Iterator[Finding]:
    """Tables with `cdc = true`, and those among them that the lists let pass."""
    if not captured:
        yield warning(
            "tables", "No table is captured.", "ALTER TABLE keyspace.name WITH cdc = true;"
        )
    elif not published:
        yield fault(
            "tables",
            f"None of the {len(captured)} captured tables passes the table lists.",
            "Correct table.include.list or table.exclude.list.",
        )
    else:
        shown = ", ".join(published[:8]) + (", …" if len(published) > 8 else "")
        yield ok("tables", f"{len(published)} of {len(captured)} captured tables: {shown}.")
