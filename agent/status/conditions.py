"""Conditions from facts. Pure: each cause gives one condition, which ends with its cause."""

from collections.abc import Iterator

from agent.accord.journal import AccordView
from agent.check.directories import irregular_segments
from agent.check.node import unknown_limit
from agent.check.tables import check_tables
from agent.check.unlogged import bypass_finding, unknown_finding
from agent.pipeline.view import BlockedView
from agent.snapshot.status import snapshot_conditions
from agent.status.facts import Facts
from agent.status.lost import quarantine_conditions
from sidecar.check.finding import Finding, Level
from sidecar.health.condition import Condition, Rank, State, Status, status_of
from sidecar.quantities import duration_text, size_text
from sidecar.status.facts import (
    TOPICS,
    UNAVAILABLE,
    stalled,
    starting,
    undelivered,
    unrecorded,
    unregistered,
    unsaved,
)
from sidecar.status.findings import MaskedCauses, SameCause, with_findings

_ACCORD_PATIENCE_S = 10.0
"""A new table is usually known sooner."""
_ACCORD_WAITING_S = 300.0
_NEARLY_FULL = 0.9
"""Share of the node's limit for `cdc_raw`."""

_BLOCKED_REMEDIES = {
    "schema": "Let the agent read the node's schema, or correct schema.file. After "
    "segment.blocked.timeout.ms the segment is quarantined.",
    "registry": "Start the schema registry, or correct the schema that it rejects. After "
    "segment.blocked.timeout.ms the record is quarantined.",
    "file": "Give the agent the key of the segment, or repair the file. After "
    "segment.blocked.timeout.ms the rest of the segment is quarantined.",
    "environment": "Follow the message. Reading is retried every second, without end.",
}

_NODE = frozenset(("schema_unavailable", "schema_not_refreshed", "segment_blocked"))
_SAME_CAUSE: SameCause = {
    "broker": UNAVAILABLE,
    "topics": UNAVAILABLE | TOPICS,
    "node": _NODE,
    "schema": _NODE,
    "segment names": frozenset(("segment_not_regular_file", "cdc_raw_unreadable")),
    "directories": frozenset(
        (
            "cdc_raw_unreadable",
            "offsets_not_saved",
            "quarantine_not_writable",
            "segment_not_removed",
        )
    ),
    "file.path": UNAVAILABLE,
    "segments": frozenset(("segment_blocked", "cdc_raw_unreadable")),
    "settings": _NODE,
    "transfer": frozenset(("transfer_unavailable",)),
    "keystore": frozenset(("segment_blocked",)),
    "tables": frozenset(("no_table_captured", "no_table_published", "list_entry_unmatched")),
    "schema_registry": frozenset(("schema_registry_unavailable", "segment_blocked")),
}
_COMPONENTS = {
    "node": "schema",
    "tables": "schema",
    "broker": "sink",
    "topics": "sink",
    "keystore": "cdc_raw",
    "directories": "cdc_raw",
    "directory rights": "cdc_raw",
    "segment names": "cdc_raw",
    "cdc_enabled": "cdc_raw",
    "segments": "cdc_raw",
    "settings": "cdc_raw",
    "quota": "cdc_raw",
    "file.path": "sink",
}


def status_from(facts: Facts, masked: MaskedCauses | None = None) -> Status:
    return status_of(conditions_of(facts, masked))


def conditions_of(facts: Facts, masked: MaskedCauses | None = None) -> tuple[Condition, ...]:
    """All conditions, in the order in which an event meets them."""
    return with_findings(
        _own(facts), facts.findings, _SAME_CAUSE, _COMPONENTS, masked or MaskedCauses()
    )


def _own(facts: Facts) -> Iterator[Condition]:
    yield from _schema(facts)
    if not facts.is_started:
        return
    yield from stalled(facts)
    yield from _source(facts)
    yield from undelivered(facts, subject="tables", check="agent check")
    yield from quarantine_conditions(facts.quarantine)
    yield from _progress(facts)
    yield from _publication(facts)
    yield from _unlogged(facts)
    yield from _beside(facts)


def _schema(facts: Facts) -> Iterator[Condition]:
    schema = facts.schema
    if not schema.error:
        if not facts.is_started:
            yield starting("schema")
        return
    if not schema.tables:
        yield Condition(
            "schema_unavailable",
            State.FAILING,
            "schema",
            f"The agent waits for the first schema: {schema.error}",
            "Start the node, or correct cassandra.hosts, cassandra.port and the login.",
        )
    elif facts.blocked is None or facts.blocked.cause != "schema":
        # A segment that waits for the schema reports the same cause.
        yield Condition(
            "schema_not_refreshed",
            State.DEGRADED,
            "schema",
            f"The agent uses the last known schema with {schema.tables} tables: {schema.error}",
            "Start the node, or correct its address and the login.",
            rank=Rank.LATE,
        )


def _source(facts: Facts) -> Iterator[Condition]:
    if facts.read_error:
        yield Condition(
            "cdc_raw_unreadable",
            State.FAILING,
            "cdc_raw",
            facts.read_error,
            "Correct cdc.raw.directory, or let the agent's user read and write the directory.",
        )
    elif facts.watch_error:
        yield Condition(
            "inotify_unavailable",
            State.DEGRADED,
            "cdc_raw",
            f"{facts.watch_error} Events are late by up to cdc.dir.poll.interval.ms.",
            "Raise fs.inotify.max_user_instances and fs.inotify.max_user_watches with sysctl.",
            rank=Rank.LATE,
        )
    if facts.irregular_segments:
        irregular = irregular_segments(facts.cdc_raw_directory, facts.irregular_segments)
        yield Condition(
            irregular.code, State.DEGRADED, "cdc_raw", irregular.message, irregular.remedy
        )
    if facts.blocked is not None:
        yield _blocked(facts.blocked, facts.schema.error)
    if facts.pinned_by_link:
        yield Condition(
            "segment_not_released",
            State.DEGRADED,
            "cdc_raw",
            f"{facts.pinned_by_link[0]}: the last changes are not read, because another hard link "
            "to the segment exists and the node's commit-log directory is unknown.",
            "Set cassandra.config to the node's cassandra.yaml, and let the agent's user search "
            "commitlog_directory.",
            rank=Rank.LATE,
        )
    yield from _accord(facts.accord)
    yield from _watermark(facts)
    yield from _room(facts)


def _accord(accord: AccordView | None) -> Iterator[Condition]:
    if accord is None:
        return
    if accord.error:
        yield Condition(
            "accord_journal_unreadable",
            State.DEGRADED,
            "cdc_raw",
            f"Transactions are not captured: {accord.error}",
            "Correct accord.journal.directory, and let the agent's user read the journal and write "
            "to cdc_raw. Changes that the node deletes meanwhile are lost.",
            rank=Rank.LOSS,
        )
    elif accord.blocked and accord.blocked_s >= _ACCORD_PATIENCE_S:
        yield Condition(
            "accord_transaction_blocked",
            State.DEGRADED,
            "cdc_raw",
            "The next transaction has been blocked for "
            f"{duration_text(accord.blocked_s)}: {accord.blocked}",
            "Let the agent read the node's schema and system.local_metadata_log. After "
            "segment.blocked.timeout.ms the changes of the transaction are recorded as lost.",
            rank=Rank.LATE,
        )
    elif accord.waiting and accord.oldest_s >= _ACCORD_WAITING_S:
        yield Condition(
            "accord_transactions_waiting",
            State.DEGRADED,
            "cdc_raw",
            f"The node has not applied {accord.waiting} transactions; the oldest began "
            f"{duration_text(accord.oldest_s)} ago.",
            "Check the replicas: a transaction that a node cannot decide waits for the others.",
            rank=Rank.LATE,
        )


def _watermark(facts: Facts) -> Iterator[Condition]:
    """A node that does not answer is reported once, by its schema."""
    if facts.watermark_error and not facts.schema.error:
        yield Condition(
            "watermark_unknown",
            State.DEGRADED,
            "schema",
            f"Watermarks do not advance: {facts.watermark_error}",
            "Let the agent's role read system_views.settings, or set cassandra.config. Without "
            "watermark.topic there are no watermarks.",
        )


def _blocked(blocked: BlockedView, schema_error: str) -> Condition:
    reason = blocked.message
    if blocked.cause == "schema" and schema_error:
        reason = f"{reason} {schema_error}"
    return Condition(
        "segment_blocked",
        State.FAILING,
        "schema_registry" if blocked.cause == "registry" else "cdc_raw",
        f"{blocked.segment} has been blocked for {duration_text(blocked.for_s)}: {reason}",
        _BLOCKED_REMEDIES[blocked.cause],
    )


def _room(facts: Facts) -> Iterator[Condition]:
    quota = facts.quota
    if quota.is_missing and not facts.schema.error:
        # A node that does not answer is reported once, by its schema.
        unknown = unknown_limit(quota, facts.cdc_raw_directory)
        yield Condition(unknown.code, State.WARNING, "cdc_raw", unknown.message, unknown.remedy)
    elif quota.limit_bytes and facts.raw_bytes >= _NEARLY_FULL * quota.limit_bytes:
        yield Condition(
            "cdc_raw_nearly_full",
            State.DEGRADED,
            "cdc_raw",
            f"{facts.cdc_raw_directory} has {size_text(facts.raw_bytes)} of "
            f"{size_text(quota.limit_bytes)}. "
            "When it is full, the node rejects writes or drops segments unread.",
            "Restore delivery, or raise cdc_total_space.",
            rank=Rank.LATE,
        )


def _progress(facts: Facts) -> Iterator[Condition]:
    yield from unsaved(
        facts,
        consequence="Segments stay in cdc_raw, and a restart delivers events again.",
    )
    yield from unrecorded(
        facts,
        remedy="Free space in commit.log.relocation.dir, or let the agent's user read and write "
        "there. Discard what is settled with `agent quarantine discard NAME`.",
    )
    if facts.removal_error:
        yield Condition(
            "segment_not_removed",
            State.DEGRADED,
            "quarantine",
            facts.removal_error,
            "Free space in commit.log.relocation.dir, or let the agent's user write there and in "
            "cdc_raw.",
        )
    if facts.retry_error:
        yield Condition(
            "segment_retry_pending",
            State.DEGRADED,
            "quarantine",
            facts.retry_error,
            "Free space in cdc_raw; the agent retries.",
        )


def _beside(facts: Facts) -> Iterator[Condition]:
    """Conditions of parts beside the delivery."""
    backlog = facts.backlog
    if backlog is not None and backlog.error:
        yield Condition(
            "transfer_unavailable",
            State.DEGRADED,
            "transfer",
            f"{backlog.error} {backlog.segments} finished segments "
            f"({size_text(backlog.size_bytes)} of {size_text(backlog.max_bytes)}) wait for "
            f"{backlog.destination}; those that have no room stay in cdc_raw.",
            "Correct the store's address, key or rights; `agent check` verifies them.",
        )
    if facts.blocked is None or facts.blocked.cause != "registry":
        yield from unregistered(facts)
    yield from snapshot_conditions(facts.snapshot)


def _publication(facts: Facts) -> Iterator[Condition]:
    """No published table, and list entries without a match."""
    for found in () if facts.publication is None else check_tables(facts.publication):
        if found.level is Level.FAULT:
            yield _of_schema(found)


def _unlogged(facts: Facts) -> Iterator[Condition]:
    """Writes that no segment has. A node that does not answer is reported once, by its schema."""
    unlogged = facts.unlogged
    if unlogged.tables:
        yield _of_schema(bypass_finding(unlogged.tables), Rank.LOSS)
    if unlogged.is_rejected and not facts.schema.error:
        yield _of_schema(unknown_finding(unlogged.unknown))
    for found in facts.findings:
        if found.code in ("table_truncated", "table_dropped"):
            yield Condition(found.code, State.WARNING, "schema", found.message, found.remedy)


def _of_schema(found: Finding, rank: Rank = Rank.NONE) -> Condition:
    state = State.DEGRADED if found.level is Level.FAULT else State.WARNING
    return Condition(found.code, state, "schema", found.message, found.remedy, rank=rank)
