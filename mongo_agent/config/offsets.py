"""Where the position is kept, what is done when it is lost, and when the agent warns before."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from mongo_agent.config.events import TopicPart
from sidecar.properties import ByteSize, LowerCase, Milliseconds, Properties, prop

HistoryLostPolicy = Literal["fail", "resnapshot", "skip"]
_MIB = 1 << 20


def _handling(value: Any) -> Any:
    """Debezium's words for going on all leave the event out; here it is kept."""
    name = value.strip().lower() if isinstance(value, str) else value
    return "quarantine" if name in ("warn", "skip", "ignore") else name


class PositionProperties(Properties):
    """Position and what may happen to it."""

    position_store: Annotated[Literal["file", "kafka"], LowerCase] = prop(
        "position.store",
        default="file",
        doc="Where the position is kept. `file`: in `offset.backing.store.dir`; events are "
        "repeated after a crash. `kafka`: in a compacted topic, written in one transaction with "
        "the events, so that a consumer with `isolation.level=read_committed` sees no repeat and a "
        "second agent of this `topic.prefix` is shut out.",
    )
    position_topic: TopicPart | None = prop(
        "position.topic",
        default=None,
        min_length=1,
        doc="That topic. Not set: `<topic.prefix>.position`.",
    )
    position_commit_interval_ms: Milliseconds = prop(
        "position.commit.interval.ms",
        default=250,
        doc="With `position.store=kafka`: after so long a transaction is committed, and consumers "
        "see its events.",
    )
    history_lost_policy: Annotated[HistoryLostPolicy | None, LowerCase] = prop(
        "history.lost.policy",
        default=None,
        doc="What is done when the oplog does not hold the position any more. `fail`: the agent "
        "ends and says how to go on. `resnapshot`: what is captured is copied again. `skip`: the "
        "stream goes on at present, and the gap is told. Not set: `resnapshot` with "
        "`snapshot.mode=when_needed` or `always`, else `fail`.",
    )
    failure_handling: Annotated[Literal["quarantine", "fail"], BeforeValidator(_handling)] = prop(
        "event.processing.failure.handling.mode",
        default="quarantine",
        doc="What becomes of an event that cannot be published, such as one that Kafka finds too "
        "large. `quarantine`: it is kept with its reason in `offset.backing.store.dir`, and "
        "counted; Debezium's `warn`, `skip` and `ignore` mean that too. `fail`: the agent ends.",
    )
    quarantine_max_bytes: ByteSize = prop(
        "quarantine.max.bytes",
        default=1024 * _MIB,
        doc="How large the quarantine may grow; what has no room waits, and all behind it.",
    )
    oplog_headroom_warning_ms: Milliseconds = prop(
        "oplog.headroom.warning.ms",
        default=3_600_000,
        doc="The agent warns when the position is nearer than this to the oldest entry of the "
        "oplog; 0: never.",
    )
    stream_lag_warning_ms: Milliseconds = prop(
        "stream.lag.warning.ms",
        default=60_000,
        doc="The agent warns when events come later than this; 0: never.",
    )
    stream_stall_warning_ms: Milliseconds = prop(
        "stream.stall.warning.ms",
        default=60_000,
        doc="The agent warns when the stream's time has not moved for so long, which is what the "
        "loss of the majority looks like; 0: never.",
    )
