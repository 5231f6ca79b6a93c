"""The node: whether it answers, how it is set, which tables it captures."""

from collections.abc import Iterator

from agent.check.publication import Publication, joined_names
from agent.config import AgentConfig
from agent.config.node_settings import NodeSettings
from agent.node.connection import NodeFacts
from sidecar.check.finding import Finding, fault, ok, warning
from sidecar.errors import ConfigError, RefusedError, SidecarError

_PROMPT_MS = 1000.0


def check_node_identity(config: AgentConfig, facts: NodeFacts | None) -> Iterator[Finding]:
    """Who the node is, when it answers."""
    if facts is not None:
        yield ok(
            "node",
            f"Cassandra {facts.release_version} at {', '.join(config.hosts)}:{config.port} "
            f"answers: host id {facts.host_id}, cluster {facts.cluster_name}.",
            code="node_answers",
        )


def check_node_error(error: SidecarError) -> Iterator[Finding]:
    """Why the node does not answer, or does not accept the agent."""
    match error:
        case RefusedError():
            yield fault(
                "node",
                str(error),
                "Correct cassandra.username and cassandra.password; until the node accepts them, "
                "an agent that starts ends with exit code 4.",
                code="node_refuses",
            )
        case ConfigError():
            yield fault(
                "node",
                str(error),
                "Correct cassandra.hosts or cassandra.ssl.*; until then the agent ends with exit "
                "code 2.",
                code="node_settings_invalid",
            )
        case _:
            yield fault(
                "node",
                str(error),
                "Start the node, or correct cassandra.hosts and cassandra.port; the agent waits.",
                code="node_unavailable",
            )


def check_schema(config: AgentConfig, tables: int | None, error: SidecarError | None) -> Finding:
    """Whether the schema can be read; `tables` is how many there are."""
    file = config.properties.schema_file
    if error is None:
        where = "the node" if file is None else f"{file}; the node is not asked"
        return ok("schema", f"{tables} tables are known from {where}.")
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
        "Try again; if it stays, look into the node's log.",
        code="schema_unreadable",
    )


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
        message = "Data that a repair streams is captured too: its events come again."
    else:
        message = "Data that a repair streams is not captured."
    yield ok("repair", message)


def check_unknown_settings(
    error: SidecarError | None, remedy: str, *, is_asked: bool
) -> Iterator[Finding]:
    """The node's settings are not known; `remedy` is the statement that lets the role read them."""
    set_file = "Set cassandra.config to the node's cassandra.yaml."
    if error is not None:
        yield fault(
            "settings",
            f"The node's settings cannot be read, so the limit of cdc_raw is not known: {error}",
            f"{remedy} Or: {set_file}",
            code="settings_not_readable",
        )
        return
    why = "the node has no table system_views.settings" if is_asked else "the node is not asked"
    yield fault(
        "settings",
        f"The node's settings are not known, nor is the limit of cdc_raw: {why}, and there is no "
        "cassandra.config.",
        set_file,
        code="settings_unknown",
    )


def _latency(settings: NodeSettings) -> Iterator[Finding]:
    period_ms = settings.commitlog_sync_period_ms
    if settings.commitlog_sync == "periodic":
        period_ms = 10_000.0 if period_ms is None else period_ms
    if not period_ms:
        yield ok("latency", f"`commitlog_sync: {settings.commitlog_sync}`: events come at once.")
        return
    message = f"The log is synced every {period_ms:g} ms, so events come up to that late."
    if period_ms <= _PROMPT_MS:
        yield ok("latency", message)
    else:
        yield warning(
            "latency",
            message,
            "Set `commitlog_sync_period` to 1s or less when events are to come sooner.",
            code="commit_log_synced_late",
        )


def check_cdc_raw_directory(config: AgentConfig, settings: NodeSettings) -> Iterator[Finding]:
    """What the node uses against what the agent is configured with."""
    told = settings.cdc_raw_directory
    if told is not None and told.resolve() != config.cdc_raw_directory.resolve():
        yield fault(
            "cdc_raw",
            f"The node uses {told} and the agent reads {config.cdc_raw_directory}.",
            "Correct cassandra.config or cdc.raw.directory; both must be the same directory.",
            code="cdc_raw_directory_differs",
        )


def check_tables(publication: Publication) -> Iterator[Finding]:
    """Tables with `cdc = true`, those that the lists let pass, and entries that match nothing."""
    captured, published = publication.captured, publication.published
    if publication.counters:
        shown = joined_names(publication.counters)
        yield ok("tables", f"Counter tables are not published (`counter.events=skip`): {shown}.")
    if not captured:
        yield fault(
            "tables",
            "No table of the node is captured, so nothing is published.",
            "ALTER TABLE keyspace.name WITH cdc = true;",
            code="no_table_captured",
        )
    elif not published:
        yield fault(
            "tables",
            f"None of the {len(captured)} captured tables passes the table lists, so every segment "
            f"is deleted without an event: {joined_names(captured)}.",
            "Correct table.include.list or table.exclude.list.",
            code="no_table_published",
        )
    else:
        shown = joined_names(published)
        yield ok("tables", f"{len(published)} of {len(captured)} captured tables: {shown}.")
    for each in publication.unmatched:
        yield fault(
            "tables",
            f"{each.name}: {each.entry}: {each.reason}.",
            f"Correct or remove it in {each.name}.",
            code="list_entry_unmatched",
        )
