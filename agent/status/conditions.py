"""Derives conditions from facts. Each cause yields one condition, which ends with its cause."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from agent.cdc_raw.quota import Quota
from agent.check.directories import irregular_segments
from agent.check.node import unknown_limit
from agent.check.publication import Publication
from agent.check.tables import check_tables
from agent.check.unlogged import UnloggedWrites, bypass_finding, unknown_finding
from agent.pipeline.view import View
from agent.snapshot.status import SnapshotFacts, snapshot_conditions
from sidecar.check.check import Finding, Level
from sidecar.health.condition import Condition, Rank, State, Status, status_of
from sidecar.quantities import size_text
from sidecar.status.facts import (
    TOPICS,
    UNAVAILABLE,
    ServiceFacts,
    stalled,
    starting,
    undelivered,
    unrecorded,
    unregistered,
    unsaved,
)
from sidecar.status.findings import MaskedCauses, SameCause, with_findings

_NEARLY_FULL = 0.9
"""Share of the node's limit for `cdc_raw`."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts(ServiceFacts):
    tables: int = 1
    schema_error: str = ""
    """Why the latest request for the schema failed; empty if it succeeded."""
    cdc_raw_directory: Path = Path("cdc_raw")
    quota: Quota = field(default_factory=lambda: Quota(limit_bytes=1 << 32))
    view: View | None = None
    """The pipeline's view; None before the pipeline exists."""
    snapshot: SnapshotFacts = field(default_factory=SnapshotFacts)
    publication: Publication | None = None
    """None if no schema is known."""
    unlogged: UnloggedWrites = field(default_factory=UnloggedWrites)


def status_from(facts: Facts, masked: MaskedCauses | None = None) -> Status:
    return status_of(conditions_of(facts, masked))


def conditions_of(facts: Facts, masked: MaskedCauses | None = None) -> tuple[Condition, ...]:
    """Returns all conditions, in the order in which an event passes the parts of the agent."""
    return with_findings(
        _own(facts), facts.findings, _SAME_CAUSE, _COMPONENTS, masked or MaskedCauses()
    )


def _own(facts: Facts) -> Iterator[Condition]:
    yield from _schema(facts)
    view = facts.view
    if view is None:
        return
    yield from stalled(facts)
    yield from _source(facts, view)
    yield from undelivered(facts, subject="tables", check="agent check")
    yield from view.quarantine.conditions()
    yield from _progress(facts, view)
    # Faults of the published tables, such as list entries that match nothing.
    for found in () if facts.publication is None else check_tables(facts.publication):
        if found.level is Level.FAULT:
            yield _of(found, "schema")
    yield from _unlogged(facts)
    if view.backlog is not None:
        yield from view.backlog.conditions()
    if view.blocked is None or view.blocked.cause != "registry":
        yield from unregistered(facts)
    yield from snapshot_conditions(facts.snapshot)


def _schema(facts: Facts) -> Iterator[Condition]:
    if not facts.schema_error:
        if facts.view is None:
            yield starting("schema")
        return
    if not facts.tables:
        yield Condition(
            "schema_unavailable",
            State.FAILING,
            "schema",
            f"The agent waits for the first schema: {facts.schema_error}",
            "Start the node, or correct cassandra.hosts, cassandra.port and the login.",
        )
    elif facts.view is None or facts.view.blocked is None or facts.view.blocked.cause != "schema":
        # A segment that waits for the schema reports the same cause.
        yield Condition(
            "schema_not_refreshed",
            State.DEGRADED,
            "schema",
            f"The agent uses the last known schema with {facts.tables} tables: "
            f"{facts.schema_error}",
            "Start the node, or correct its address and the login.",
            rank=Rank.LATE,
        )


def _source(facts: Facts, view: View) -> Iterator[Condition]:
    if view.read_error:
        yield Condition(
            "cdc_raw_unreadable",
            State.FAILING,
            "cdc_raw",
            view.read_error,
            "Correct cdc.raw.directory, or let the agent's user read and write the directory.",
        )
    elif view.watch_error:
        yield Condition(
            "inotify_unavailable",
            State.DEGRADED,
            "cdc_raw",
            f"{view.watch_error} Events are late by up to cdc.dir.poll.interval.ms.",
            "Raise fs.inotify.max_user_instances and fs.inotify.max_user_watches with sysctl.",
            rank=Rank.LATE,
        )
    if view.irregular_segments:
        yield _of(irregular_segments(facts.cdc_raw_directory, view.irregular_segments), "cdc_raw")
    if view.blocked is not None:
        yield view.blocked.condition(facts.schema_error)
    if view.pinned_by_link is not None:
        yield Condition(
            "segment_not_released",
            State.DEGRADED,
            "cdc_raw",
            f"{view.pinned_by_link}: the last changes are not read, because another hard link "
            "to the segment exists and the node's commit-log directory is unknown.",
            "Set cassandra.config to the node's cassandra.yaml, and let the agent's user search "
            "commitlog_directory.",
            rank=Rank.LATE,
        )
    if view.accord is not None:
        yield from view.accord.conditions()
    # The schema already reports an unavailable node.
    if view.watermark_error and not facts.schema_error:
        yield Condition(
            "watermark_unknown",
            State.DEGRADED,
            "schema",
            f"Watermarks do not advance: {view.watermark_error}",
            "Let the agent's role read system_views.settings, or set cassandra.config. Without "
            "watermark.topic there are no watermarks.",
        )
    quota = facts.quota
    if quota.is_missing and not facts.schema_error:
        yield _of(unknown_limit(quota, facts.cdc_raw_directory), "cdc_raw")
    elif quota.limit_bytes and view.raw_bytes >= _NEARLY_FULL * quota.limit_bytes:
        yield Condition(
            "cdc_raw_nearly_full",
            State.DEGRADED,
            "cdc_raw",
            f"{facts.cdc_raw_directory} contains {size_text(view.raw_bytes)} of "
            f"{size_text(quota.limit_bytes)}. "
            "When it is full, the node rejects writes or deletes segments unread.",
            "Restore delivery, or raise cdc_total_space.",
            rank=Rank.LATE,
        )


def _progress(facts: Facts, view: View) -> Iterator[Condition]:
    yield from unsaved(
        facts,
        consequence="Segments stay in cdc_raw, and a restart delivers events again.",
    )
    yield from unrecorded(
        facts,
        remedy="Free space in commit.log.relocation.dir, or let the agent's user read and write "
        "there. Discard resolved entries with `agent quarantine discard NAME`.",
    )
    if view.removal_error:
        yield Condition(
            "segment_not_removed",
            State.DEGRADED,
            "quarantine",
            view.removal_error,
            "Free space in commit.log.relocation.dir, or let the agent's user write there and in "
            "cdc_raw.",
        )
    if view.retry_error:
        yield Condition(
            "segment_retry_pending",
            State.DEGRADED,
            "quarantine",
            view.retry_error,
            "Free space in cdc_raw; the agent retries.",
        )


def _unlogged(facts: Facts) -> Iterator[Condition]:
    """Reports writes that bypass the segments, truncations and drops."""
    unlogged = facts.unlogged
    if unlogged.tables:
        yield _of(bypass_finding(unlogged.tables), "schema", Rank.LOSS)
    if unlogged.is_rejected and not facts.schema_error:
        yield _of(unknown_finding(unlogged.unknown), "schema")
    for found in facts.findings:
        if found.code in ("table_truncated", "table_dropped"):
            yield _of(found, "schema")


def _of(found: Finding, component: str, rank: Rank = Rank.NONE) -> Condition:
    state = State.DEGRADED if found.level is Level.FAULT else State.WARNING
    return Condition(found.code, state, component, found.message, found.remedy, rank=rank)
