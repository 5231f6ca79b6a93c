"""Options of dedupe: identity of events, sinks, invalid records, idle replicas."""

from typing import Annotated, Literal

from pydantic import model_validator

from sidecar.properties.model import Properties, prop
from sidecar.properties.types import LowerCase, Milliseconds
from spark_jobs.options.job import InvalidRecordOptions
from spark_jobs.options.kafka import ProducerOptions, TopicJobOptions
from spark_jobs.options.types import Location, LowerCaseList, Topic, require_separate

IdentityName = Literal["event", "cell"]
SINKS = ("delta", "kafka")

_SIX_HOURS_MS = 6 * 3600 * 1000


class DedupeOptions(Properties):
    """Options of the function `dedupe`, such as `DedupeOptions(ttl_ms=3_600_000)`."""

    identity: Annotated[IdentityName, LowerCase] = prop(
        "identity",
        default="event",
        doc="How the job recognizes replica copies. `event`: by the event id. `cell`: the job "
        "drops an event if earlier events contained each of its cells. This requires `cells`, and "
        "also drops events whose cells a repair regroups.",
    )
    ttl_ms: Milliseconds = prop(
        "ttl.ms",
        default=_SIX_HOURS_MS,
        ge=2,
        doc="How long the job remembers an event. Use more than the longest delay of a replica: "
        "hint window, lag of its agent, and a margin. A later replica copy counts as a new event; "
        "no event is lost.",
    )


class SinkOptions(InvalidRecordOptions, ProducerOptions):
    """Targets of events and of invalid records."""

    sinks: LowerCaseList = prop(
        "sink",
        default=("delta",),
        doc="Where events go: `delta`, `kafka`, or both. Delta receives each event exactly once, "
        "Kafka at least once: after a failure the job sends the last micro-batch again.",
    )
    delta_path: Location | None = prop(
        "sink.delta.path", default=None, doc="Folder or URI of the Delta table of events."
    )
    topic: Topic | None = prop("sink.topic", default=None, doc="Target topic for all events.")
    topic_prefix: Topic | None = prop(
        "sink.topic.prefix",
        default=None,
        doc="Prefix of target topics, instead of `sink.topic`. The name of an event's target topic "
        "is this prefix plus the name of its source topic.",
    )
    partition_by: Annotated[Literal["source", "key"], LowerCase] = prop(
        "sink.partition.by",
        default="source",
        doc="Target partition of an event. `source`: the number of its source partition, so each "
        "partition key stays in one partition. `key`: Kafka chooses it by the message key.",
    )

    @model_validator(mode="after")
    def _sinks_are_complete(self) -> "SinkOptions":
        if not self.sinks or set(self.sinks) - set(SINKS):
            raise ValueError("`sink` must be `delta`, `kafka` or `delta,kafka`")
        if ("delta" in self.sinks) != (self.delta_path is not None):
            raise ValueError("`sink.delta.path` must be set for `sink=delta`, and only then")
        is_addressed = (self.topic is None) != (self.topic_prefix is None)
        if "kafka" in self.sinks and not is_addressed:
            raise ValueError(
                "`sink.topic` or `sink.topic.prefix` must be set for `sink=kafka`, but not both"
            )
        others = {"sink.delta.path": self.delta_path}
        require_separate("dead.letter.path", self.dead_letter_path, others)
        return self

    def warnings(self) -> tuple[str, ...]:
        warnings = super().warnings()
        if "kafka" in self.sinks:
            return warnings
        targets = {"sink.topic": self.topic, "sink.topic.prefix": self.topic_prefix}
        unused = [name for name, value in targets.items() if value is not None]
        unused += [f"sink.kafka.{name}" for name in sorted(self.sink_kafka)]
        return warnings + tuple(
            f"`{name}` has no effect without `kafka` in `sink`." for name in unused
        )


# A pydantic model orders its fields by its bases, from the last to the first.
class DedupeJobOptions(TopicJobOptions, SinkOptions, DedupeOptions):
    replica_idle_timeout_ms: Milliseconds = prop(
        "replica.idle.timeout.ms",
        default=3_600_000,
        doc="Time without records from a node after which the job reports the node as idle.",
    )

    @model_validator(mode="after")
    def _folders_are_separate(self) -> "DedupeJobOptions":
        paths = {"sink.delta.path": self.delta_path, "dead.letter.path": self.dead_letter_path}
        require_separate("checkpoint", self.checkpoint, paths)
        return self

    @model_validator(mode="after")
    def _no_loop(self) -> "DedupeJobOptions":
        if "bootstrap.servers" in self.sink_kafka:
            return self
        name = "sink.topic" if self.topic is not None else "sink.topic.prefix"
        for topic in self._target_topics():
            if self.reads(topic):
                raise ValueError(
                    f"`{name}` targets `{topic}`, which the job also reads. Use another topic"
                )
        return self

    def _target_topics(self) -> list[str]:
        """The target topics, or examples if their names are not known yet."""
        if self.topic is not None:
            return [self.topic]
        if self.topic_prefix is None:
            return []
        return [self.topic_prefix + topic for topic in self.topics or ("a", "a.b.c")]

    def fixed(self) -> dict[str, str]:
        """Options of the state and the target, which must not change while a checkpoint is used."""
        options = {
            "identity": self.identity,
            "sink": ",".join(sorted(self.sinks)),
            "sink.delta.path": self.delta_path,
            "sink.topic": self.topic,
            "sink.topic.prefix": self.topic_prefix,
            "invalid.records": self.invalid_records,
            "state.partitions": self.state_partitions,
        }
        return {name: str(value) for name, value in options.items() if value is not None}
