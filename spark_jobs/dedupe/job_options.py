"""All options of the job: topics, identity, where events go."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, model_validator

from sidecar.properties import (
    CommaList,
    LowerCase,
    Milliseconds,
    PassThrough,
    Properties,
    broker_list,
    pass_through,
    prop,
)
from spark_jobs.dedupe.options import DedupeOptions
from spark_jobs.options import SessionOptions, SourceOptions, StreamOptions
from spark_jobs.options.values import (
    APART,
    Location,
    Topic,
    kafka_problems,
    kafka_warnings,
    overlap,
)

SINKS = ("delta", "kafka")
_ALL_REPLICAS = ("all", "-1")


def _lower_all(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value.lower() for value in values))


class SinkOptions(Properties):
    """Where the events go, and what becomes of records that are none."""

    sinks: Annotated[CommaList, AfterValidator(_lower_all)] = prop(
        "sink",
        default=("delta",),
        doc="`delta`, `kafka`, or both. Delta has each event exactly once; Kafka at least once: "
        "after a failure the last micro-batch is sent again.",
    )
    delta_path: Location | None = prop(
        "sink.delta.path", default=None, doc="Folder or URI of the Delta table of events."
    )
    topic: Topic | None = prop("sink.topic", default=None, doc="Topic that all events go to.")
    topic_prefix: Topic | None = prop(
        "sink.topic.prefix",
        default=None,
        doc="In place of `sink.topic`: an event goes to the topic that it came from, with this in "
        "front of its name.",
    )
    partition_by: Annotated[Literal["source", "key"], LowerCase] = prop(
        "sink.partition.by",
        default="source",
        doc="Partition of an event: `source`, the one that it came from, so that a partition key "
        "stays in one; `key`, Kafka's choice by the message key.",
    )
    sink_kafka: PassThrough = pass_through(
        "sink.kafka.",
        doc="Settings of the Kafka producer. Without `sink.kafka.bootstrap.servers` it is the "
        "cluster of `kafka.*`, with all its settings.",
    )
    strangers: Annotated[Literal["fail", "aside"], LowerCase] = prop(
        "records.without.id",
        default="fail",
        doc="Records without the headers of an event: `fail` stops the job with their place, "
        "before anything of their micro-batch is written; `aside` writes them to `aside.path`.",
    )
    aside_path: Location | None = prop(
        "aside.path", default=None, doc="Delta table of such records, as they were read."
    )

    @model_validator(mode="after")
    def _sinks_are_complete(self) -> "SinkOptions":
        if not self.sinks or set(self.sinks) - set(SINKS):
            raise ValueError("`sink` must be `delta`, `kafka` or `delta,kafka`")
        if ("delta" in self.sinks) != (self.delta_path is not None):
            raise ValueError("`sink.delta.path` must be set for the sink `delta`, and only then")
        is_addressed = (self.topic is None) != (self.topic_prefix is None)
        if "kafka" in self.sinks and not is_addressed:
            raise ValueError(
                "`sink.topic` or `sink.topic.prefix` must be set for the sink `kafka`, and not both"
            )
        if (self.strangers == "aside") != (self.aside_path is not None):
            raise ValueError(
                "`aside.path` must be set for `records.without.id=aside`, and only then"
            )
        if self.delta_path and self.aside_path and overlap(self.delta_path, self.aside_path):
            raise ValueError(f"`aside.path` and `sink.delta.path` are two tables: {APART}")
        self._check_producer()
        return self

    def _check_producer(self) -> None:
        servers = self.sink_kafka.get("bootstrap.servers")
        if servers is not None:
            try:
                broker_list(servers)
            except ValueError as error:
                raise ValueError(f"`sink.kafka.bootstrap.servers` {error}") from error
            problem = next(kafka_problems("sink.kafka.", self.sink_kafka), None)
            if problem is not None:
                raise ValueError(problem)
        acks = self.sink_kafka.get("acks")
        if acks is not None and acks.strip() not in _ALL_REPLICAS:
            raise ValueError(
                f"`sink.kafka.acks` must be `all`, not `{acks}`: events that the leader alone has "
                "would be lost with it"
            )

    def warnings(self) -> tuple[str, ...]:
        sentences = super().warnings() + tuple(kafka_warnings("sink.kafka.", self.sink_kafka))
        if "kafka" in self.sinks:
            return sentences
        unused = [
            name
            for name, value in (
                ("sink.topic", self.topic),
                ("sink.topic.prefix", self.topic_prefix),
            )
            if value is not None
        ]
        unused += [f"sink.kafka.{name}" for name in sorted(self.sink_kafka)]
        return sentences + tuple(
            f"`{name}` has no effect without `kafka` in `sink`." for name in unused
        )


class ReplicaOptions(Properties):
    """When a replica counts as silent."""

    silent_after_ms: Milliseconds = prop(
        "silent.after.ms",
        default=3_600_000,
        doc="A node that brought no record for so long is reported as silent.",
    )


# The fields of a pydantic model stand in the order of its bases from the last to the first.
class DedupeJobOptions(
    SessionOptions, ReplicaOptions, StreamOptions, SinkOptions, DedupeOptions, SourceOptions
):
    """What `python -m spark_jobs.dedupe` takes."""

    @model_validator(mode="after")
    def _places_are_apart(self) -> "DedupeJobOptions":
        for name, path in (("sink.delta.path", self.delta_path), ("aside.path", self.aside_path)):
            if path is not None and overlap(self.checkpoint, path):
                raise ValueError(f"`checkpoint` and `{name}` overlap: {APART}")
        return self

    @model_validator(mode="after")
    def _no_loop(self) -> "DedupeJobOptions":
        if "bootstrap.servers" in self.sink_kafka:
            return self
        name = "sink.topic" if self.topic is not None else "sink.topic.prefix"
        for topic in self._written_topics():
            if self._is_read(topic):
                raise ValueError(f"`{name}` leads to `{topic}`, which this job reads: use another")
        return self

    def _written_topics(self) -> list[str]:
        """Names of topics that are written, as far as they are known, else such as may be."""
        if self.topic is not None:
            return [self.topic]
        if self.topic_prefix is None:
            return []
        return [self.topic_prefix + topic for topic in self.topics or ("a", "a.b.c")]

    def _is_read(self, topic: str) -> bool:
        if self.topics_pattern is None:
            return topic in self.topics
        try:
            return re.fullmatch(self.topics_pattern, topic) is not None
        except re.error:
            return False

    def producer_settings(self) -> dict[str, str]:
        """Options of Spark's Kafka sink."""
        given = dict(self.sink_kafka)
        settings = given if "bootstrap.servers" in given else {**self.kafka, **given}
        return {f"kafka.{name}": value for name, value in settings.items()}

    def fixed(self) -> dict[str, str]:
        """What cannot change under a checkpoint."""
        options = {
            "identity": self.identity,
            "sink": ",".join(sorted(self.sinks)),
            "sink.delta.path": self.delta_path,
            "sink.topic": self.topic,
            "sink.topic.prefix": self.topic_prefix,
            "records.without.id": self.strangers,
            "state.partitions": self.state_partitions,
        }
        return {name: str(value) for name, value in options.items() if value is not None}
