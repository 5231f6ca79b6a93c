"""Conditions from facts. Pure: each cause yields one condition, which clears with its cause."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from mongo_agent.dead_letters import Usage
from mongo_agent.pipeline.view import StreamView
from mongo_agent.server.monitoring import StreamWarning
from sidecar.check.check import first_names
from sidecar.dead_letters.dead_letter import TOO_LARGE_REMEDY
from sidecar.health.condition import Condition, Rank, State, Status, status_of
from sidecar.leader_election.role import Role
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

_NAMED = 5
"""Most collections that a remedy lists; if there are more, it selects all."""
ELECTION = "election"
"""The name of the component for leader election."""

_OF_SERVER = ("MongoDB", "deployment", "privileges", "collections")
_NO_MEMBER = frozenset(("not_in_group",))
_SAME_CAUSE: SameCause = {
    **dict.fromkeys(_OF_SERVER, frozenset(("start_blocked", "stream_not_open"))),
    "broker": UNAVAILABLE | _NO_MEMBER,
    "group": _NO_MEMBER,
    "topics": UNAVAILABLE | TOPICS,
    "file.path": UNAVAILABLE,
    "directories": frozenset(("offsets_not_saved", "quarantine_not_writable")),
    "schema_registry": frozenset(("schema_registry_unavailable",)),
}
_COMPONENTS = {
    **dict.fromkeys((*_OF_SERVER, "images", "version"), "stream"),
    **dict.fromkeys(("broker", "topics", "file.path"), "sink"),
    "group": ELECTION,
    "directories": "offsets",
}


@dataclass(frozen=True, slots=True)
class ElectionFacts:
    """The role of the agent in the consumer group that elects the leader."""

    group: str
    role: Role
    error: str = ""
    """Why the agent is not a member; empty for a member."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts(ServiceFacts):
    """The facts that determine the conditions; the defaults describe a healthy agent."""

    start_error: str = ""
    """Why the agent cannot start; empty if no cause is known."""
    election: ElectionFacts | None = None
    """None without `standby.enabled`, and before the agent knows the deployment."""
    streams: Sequence[StreamView] = ()
    concerns: Mapping[str, StreamWarning] = field(default_factory=dict)
    """Warnings by stream, about the oplog or a stream that lags or stalls."""
    quarantine: Usage = field(default_factory=Usage)
    quarantine_directory: str = "quarantine"


def status_from(facts: Facts, masked: MaskedCauses | None = None) -> Status:
    return status_of(conditions_of(facts, masked))


def conditions_of(facts: Facts, masked: MaskedCauses | None = None) -> tuple[Condition, ...]:
    """List all conditions, in the order in which an event meets them."""
    return with_findings(
        _own(facts), facts.findings, _SAME_CAUSE, _COMPONENTS, masked or MaskedCauses()
    )


def component_name(kind: Literal["stream", "snapshot"], stream: str) -> str:
    """Name the component of a stream or its snapshot; `stream` is empty if there is only one."""
    return f"{kind} {stream}" if stream else kind


def _own(facts: Facts) -> Iterator[Condition]:
    if facts.election is not None and facts.election.role is not Role.LEADER:
        yield from _not_leading(facts.election)
        return
    if not facts.is_started:
        yield _start(facts.start_error)
        return
    yield from stalled(facts)
    for stream in facts.streams:
        yield from _stream(stream, facts.concerns.get(stream.name))
    yield from undelivered(facts, subject="collections", check="mongo-agent check")
    yield from _lost(facts)
    yield from unsaved(
        facts, consequence="A restart repeats events, or loses changes that have left the oplog."
    )
    yield from unrecorded(
        facts, remedy=f"Free space in {facts.quarantine_directory}, or raise quarantine.max.bytes."
    )
    yield from unregistered(facts)
    for stream in facts.streams:
        yield from _replaced(stream)
        yield from _snapshot(stream)


def _start(error: str) -> Condition:
    if not error:
        return starting("pipeline")
    return Condition(
        "start_blocked",
        State.FAILING,
        "pipeline",
        f"The agent waits and delivers nothing: {error}",
        "Start the server or correct its address and login; `mongo-agent check` verifies them.",
    )


def _not_leading(election: ElectionFacts) -> Iterator[Condition]:
    """Yield nothing on standby, because another agent delivers."""
    if election.role is Role.STANDBY:
        return
    if not election.error:
        yield starting(ELECTION)
        return
    yield Condition(
        "not_in_group",
        State.FAILING,
        ELECTION,
        f"The agent is not a member of the consumer group {election.group}, so it neither delivers "
        f"nor stands by: {election.error}",
        "Start the brokers or grant the rights; `mongo-agent check` verifies both.",
    )


def _stream(stream: StreamView, concern: StreamWarning | None) -> Iterator[Condition]:
    component, state = component_name("stream", stream.name), stream.state
    if not state.is_open:
        yield Condition(
            "stream_not_open",
            State.FAILING,
            component,
            f"The {component} is not open, so its changes are not delivered: {state.message}",
            "Fix this error, then start the agent again: it exits."
            if state.has_ended
            else "Start the servers or correct the agent's rights; `mongo-agent check` verifies "
            "them.",
        )
    if concern is not None:
        message, remedy = _sentence(concern.message), _sentence(concern.remedy)
        yield Condition(concern.code, State.DEGRADED, component, message, remedy)


def _sentence(clause: str) -> str:
    return f"{clause[:1].upper()}{clause[1:]}."


def _lost(facts: Facts) -> Iterator[Condition]:
    usage, directory = facts.quarantine, facts.quarantine_directory
    if usage.gaps:
        quoted = shlex.quote(str(directory))
        changes = "1 time range" if usage.gaps == 1 else f"{usage.gaps} time ranges"
        yield Condition(
            "changes_lost",
            State.DEGRADED,
            "quarantine",
            f"Changes in {changes} were not delivered; {directory}/gaps.ndjson has the reasons.",
            "Copy the collections with `mongo-agent snapshot start '.*'`, then move "
            f"that file away: `mv {quoted}/gaps.ndjson {quoted}/gaps.old`.",
        )
    if usage.dead_letters:
        count = usage.dead_letters
        events = "1 event was" if count == 1 else f"{count:,} events were"
        yield Condition(
            "event_rejected",
            State.DEGRADED,
            "quarantine",
            f"{events} not delivered; stored in {directory}/refused.ndjson, each with its reason.",
            f"If an event is too large, {TOO_LARGE_REMEDY}. The file contains the whole events. "
            "Publish them by other means, then move the file away.",
        )


def _replaced(stream: StreamView) -> Iterator[Condition]:
    if not stream.replaced:
        return
    names = [each.namespace for each in stream.replaced]
    named = first_names([f"{each.namespace} ({each.cause})" for each in stream.replaced])
    chosen = names if len(names) <= _NAMED else [".*"]
    remedy = f"Run `mongo-agent snapshot start --replace {shlex.join(chosen)}`."
    if stream.no_deletes:
        remedy = (
            f"Delete the documents of the old collections in the target: {stream.no_deletes}, so "
            f"the command publishes no deletes. {remedy}"
        )
    yield Condition(
        "collection_replaced",
        State.DEGRADED,
        component_name("snapshot", stream.name),
        f"Collections changed as a whole, without an event for each document: {named}. Their "
        "topics contain documents of the old collections, or lack documents of the new ones.",
        remedy,
    )


def _snapshot(stream: StreamView) -> Iterator[Condition]:
    if stream.snapshot_error:
        yield Condition(
            "snapshot_blocked",
            State.DEGRADED,
            component_name("snapshot", stream.name),
            f"Existing documents cannot be read: {stream.snapshot_error}",
            "Start the servers or grant `find` on the collections; the snapshot resumes.",
            rank=Rank.LATE,
        )
    if rejected := stream.snapshot.rejected:
        name, reason = next(iter(rejected.items()))
        others = len(rejected) - 1
        more = f" {others} more cannot be copied." if others else ""
        quoted = shlex.quote(name)
        yield Condition(
            "snapshot_collection_rejected",
            State.DEGRADED,
            component_name("snapshot", stream.name),
            f"The collection {name} cannot be copied; the others are. {reason.rstrip('.')}.{more}",
            "Correct the cause. The agent retries; after a rejected filter, run "
            f"`mongo-agent snapshot start {quoted} --filter {quoted} QUERY` with a query that the "
            "server accepts. Skip the collection with "
            f"`mongo-agent snapshot stop {quoted}`.",
        )
