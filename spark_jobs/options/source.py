"""Options of the Kafka source: cluster, topics, offsets, limits."""

import json
import re
from typing import ClassVar

from pydantic import field_validator, model_validator

from sidecar.properties.addresses import broker_list
from sidecar.properties.model import PassThrough, Properties, pass_through, prop
from spark_jobs.options.kafka_client import kafka_problems, kafka_warnings
from spark_jobs.options.types import Count, TopicList, TopicPattern

_LEAST_OFFSET = -2
"""Spark's number for the earliest offset. -1 is the latest offset."""
_OFFSETS = 'must be `earliest`, `latest`, or JSON such as `{"topic":{"0":23}}`'
_FIXED = {
    "kafka.group.id": "offsets are in the checkpoint, not in a consumer group",
    "kafka.auto.offset.reset": "`starting.offsets` sets the offsets of the first run",
    "kafka.enable.auto.commit": "offsets are in the checkpoint",
    "kafka.key.deserializer": "keys are bytes",
    "kafka.value.deserializer": "values are bytes",
}


class SourceOptions(Properties):
    """The Kafka source."""

    topics_are_optional: ClassVar[bool] = False
    """Whether the job also runs without a source."""

    kafka: PassThrough = pass_through(
        "kafka.",
        doc="Settings of Kafka's Java client, such as `kafka.security.protocol`, `kafka.sasl.*` "
        "and `kafka.ssl.*`. `kafka.bootstrap.servers` is required.",
    )
    topics: TopicList = prop("topics", default=(), doc="Topics to read, separated by commas.")
    topics_pattern: TopicPattern | None = prop(
        "topics.pattern",
        default=None,
        doc="Java regular expression for whole topic names, instead of `topics`. New topics that "
        "match are read too.",
    )
    starting_offsets: str = prop(
        "starting.offsets",
        default="earliest",
        doc="Offsets of the first run: `earliest`, `latest`, or Spark's JSON of topics and "
        "partitions. Later runs resume at the offsets in the checkpoint.",
    )
    max_offsets_per_trigger: int | None = prop(
        "max.offsets.per.trigger",
        default=None,
        ge=1,
        doc="Largest number of records in a micro-batch. Not set: no limit.",
    )
    min_partitions: Count | None = prop(
        "min.partitions",
        default=None,
        doc="Smallest number of tasks that read. Spark splits large Kafka partitions.",
    )
    fail_on_data_loss: bool = prop(
        "fail.on.data.loss",
        default=True,
        doc="Whether the job fails if Kafka deleted records before the job read them.",
    )

    @property
    def has_source(self) -> bool:
        """Whether topics are named."""
        return bool(self.topics or self.topics_pattern)

    def reads(self, topic: str) -> bool:
        """Whether the source has a topic of this name."""
        if self.topics_pattern is None:
            return topic in self.topics
        try:
            return re.fullmatch(self.topics_pattern, topic) is not None
        except re.error:
            # Valid in Java alone.
            return False

    def reader_options(self) -> dict[str, str]:
        """Options of Spark's Kafka source, with headers enabled."""
        options = {f"kafka.{name}": value for name, value in self.kafka.items()}
        options["includeHeaders"] = "true"
        options["startingOffsets"] = self.starting_offsets
        options["failOnDataLoss"] = str(self.fail_on_data_loss).lower()
        if self.topics:
            options["subscribe"] = ",".join(self.topics)
        else:
            # Spark also accepts a match of a part of the name.
            options["subscribePattern"] = f"^(?:{self.topics_pattern})$"
        optional = {
            "maxOffsetsPerTrigger": self.max_offsets_per_trigger,
            "minPartitions": self.min_partitions,
        }
        return options | {name: str(value) for name, value in optional.items() if value is not None}

    def subscription(self) -> str:
        """The subscription as text; equal for equal subscriptions."""
        return self.topics_pattern or ",".join(sorted(self.topics))

    @field_validator("starting_offsets")
    @classmethod
    def _offsets(cls, value: str) -> str:
        if value.strip().lower() in ("earliest", "latest"):
            return value.strip().lower()
        try:
            offsets = json.loads(value)
        except ValueError as error:
            raise ValueError(_OFFSETS) from error
        if not isinstance(offsets, dict) or not offsets:
            raise ValueError(_OFFSETS)
        for topic, partitions in offsets.items():
            if not isinstance(partitions, dict) or not partitions:
                raise ValueError(f"{_OFFSETS}; `{topic}` has no partitions")
            for number, offset in partitions.items():
                is_offset = isinstance(offset, int) and not isinstance(offset, bool)
                if not (number.isdecimal() and is_offset and offset >= _LEAST_OFFSET):
                    raise ValueError(
                        f"{_OFFSETS}; `{topic}` has the partition `{number}` at `{offset}`, but "
                        "both must be whole numbers (-2: earliest offset, -1: latest)"
                    )
        return value

    @model_validator(mode="after")
    def _one_subscription(self) -> "SourceOptions":
        if self.topics_are_optional and not self.has_source:
            return self
        if bool(self.topics) == bool(self.topics_pattern):
            raise ValueError("`topics` or `topics.pattern` must be set, but not both")
        if not self.kafka.get("bootstrap.servers"):
            raise ValueError("`kafka.bootstrap.servers` must be set")
        try:
            broker_list(self.kafka["bootstrap.servers"])
        except ValueError as error:
            raise ValueError(f"`kafka.bootstrap.servers` {error}") from error
        for name, reason in _FIXED.items():
            if name.removeprefix("kafka.") in self.kafka:
                raise ValueError(f"`{name}` cannot be set: {reason}")
        problem = next(kafka_problems("kafka.", self.kafka), None)
        if problem is not None:
            raise ValueError(problem)
        self._check_named_topics()
        return self

    def _check_named_topics(self) -> None:
        """Spark requires offsets of all topics or of none."""
        if not self.topics or not self.starting_offsets.startswith("{"):
            return
        named = set(json.loads(self.starting_offsets))
        if named != set(self.topics):
            raise ValueError(
                f"`starting.offsets` names {', '.join(sorted(named))}, but `topics` names "
                f"{', '.join(sorted(self.topics))}. Name the same topics in both"
            )

    def warnings(self) -> tuple[str, ...]:
        return (*super().warnings(), *kafka_warnings("kafka.", self.kafka))
