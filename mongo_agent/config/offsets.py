"""Properties of offsets, failures and warnings."""

from typing import Annotated, Literal

from mongo_agent.change_stream.recovery import HistoryLostPolicy
from mongo_agent.config.values import TopicPart, optional, renamed, text
from mongo_agent.snapshot.ddl_events import ReplacedPolicy
from sidecar.properties.model import Properties, prop
from sidecar.properties.types import ByteSize, LowerCase, Milliseconds

# Debezium's values skip the event; the quarantine stores it.
_Handling = renamed(dict.fromkeys(("warn", "skip", "ignore"), "quarantine"))


class PositionProperties(Properties):
    position_store: Annotated[Literal["file", "kafka"], LowerCase] = prop(
        "position.store",
        default="file",
        doc="Offset store. `file`: a file in `offset.backing.store.dir`; after a crash, events "
        "repeat. `kafka`: a compacted topic, written in one transaction with the events. Consumers "
        "with `isolation.level=read_committed` then see no repeats, and Kafka fences a second "
        "agent with this `topic.prefix`.",
    )
    position_topic: TopicPart | None = text(
        "position.topic",
        doc="Topic of `position.store=kafka`. Defaults to `<topic.prefix>.position`.",
    )
    position_commit_interval_ms: Milliseconds = prop(
        "position.commit.interval.ms",
        default=250,
        doc="Interval between transaction commits with `position.store=kafka`; consumers see "
        "events after the commit.",
    )
    standby_enabled: bool = prop(
        "standby.enabled",
        default=False,
        doc="Whether several agents with this configuration may run: a leader delivers, the others "
        "stand by. The consumer group `cdc-sidecar-<topic.prefix>` elects the leader. Requires "
        "`position.store=kafka` and a separate `offset.backing.store.dir` for each agent.",
    )
    standby_session_timeout_ms: Milliseconds = prop(
        "standby.session.timeout.ms",
        default=6000,
        ge=1000,
        doc="Time after which another agent takes over from a silent leader. Brokers accept values "
        "from `group.min.session.timeout.ms` (6000) to `group.max.session.timeout.ms`.",
    )
    history_lost_policy: Annotated[HistoryLostPolicy | None, LowerCase] = optional(
        "history.lost.policy",
        doc="Action when the oplog no longer contains the offset. `fail`: the agent exits and "
        "reports a remedy. `resnapshot`: it takes a new snapshot; documents deleted in the gap "
        "stay in the topics until a snapshot with `--replace`. `skip`: it continues from now and "
        "records the gap. Defaults to `resnapshot` with `snapshot.mode=when_needed` or `always`, "
        "else `fail`.",
    )
    replaced_policy: Annotated[ReplacedPolicy, LowerCase] = prop(
        "collection.replaced.policy",
        default="report",
        doc="Action when a captured collection is dropped, or renamed from or to a captured name; "
        "its documents then have no events. `report`: the agent is degraded and reports the "
        "remedy. `resnapshot`: it publishes the documents of the new collection, and deletes of "
        "documents that exist only in the topic. `skip`: it does nothing; consumers must follow "
        "`topic.schema.changes`.",
    )
    failure_handling: Annotated[Literal["quarantine", "fail"], _Handling] = prop(
        "event.processing.failure.handling.mode",
        default="quarantine",
        doc="Handling of events that cannot be published, for example events too large for Kafka. "
        "`quarantine`: the agent stores the event with the reason in `offset.backing.store.dir` "
        "and counts it; aliases are Debezium's `warn`, `skip` and `ignore`. `fail`: it exits.",
    )
    quarantine_max_bytes: ByteSize = prop(
        "quarantine.max.bytes",
        default=1 << 30,
        doc="Largest size of the quarantine; delivery stops while it is full.",
    )
    oplog_headroom_warning_ms: Milliseconds = prop(
        "oplog.headroom.warning.ms",
        default=3_600_000,
        doc="The agent warns when less than this time separates the oldest oplog entry from the "
        "stored offset; 0 disables the warning.",
    )
    stream_lag_warning_ms: Milliseconds = prop(
        "stream.lag.warning.ms",
        default=60_000,
        doc="The agent warns when a stream lags by more than this time; 0 disables the warning.",
    )
    stream_stall_warning_ms: Milliseconds = prop(
        "stream.stall.warning.ms",
        default=60_000,
        doc="The agent warns when a stream's cluster time has not advanced for this time, for "
        "example without a majority of members; 0 disables the warning.",
    )
