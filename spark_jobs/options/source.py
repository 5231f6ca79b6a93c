"""Which topics are read, and how."""

import json

from pydantic import field_validator, model_validator

from sidecar.properties import (
    PassThrough,
    Properties,
    broker_list,
    pass_through,
    prop,
)
from spark_jobs.options.values import (
    Count,
    TopicList,
    TopicPattern,
    kafka_problems,
    kafka_warnings,
)

_LEAST_OFFSET = -2
"""Spark's number for the earliest offset; -1 is the latest."""
_OFFSETS = 'must be `earliest`, `latest`, or JSON such as `{"topic":{"0":23}}`'
_OURS = {
    "kafka.group.id": "progress is in the checkpoint, not in a consumer group",
    "kafka.auto.offset.reset": "`starting.offsets` says where a first run begins",
    "kafka.enable.auto.commit": "progress is in the checkpoint",
    "kafka.key.deserializer": "keys are bytes",
    "kafka.value.deserializer": "values are bytes",
}


class SourceOptions(Properties):
    """Topics of a Kafka cluster."""

    kafka: PassThrough = pass_through(
        "kafka.",
        doc="Settings of Kafka's Java client: `kafka.bootstrap.servers`, which must be set, "
        "`kafka.security.protocol`, `kafka.sasl.*`, `kafka.ssl.*` and any other.",
    )
    topics: TopicList = prop("topics", default=(), doc="Topics to read.")
    topics_pattern: TopicPattern | None = prop(
        "topics.pattern",
        default=None,
        doc="In place of `topics`: a Java regular expression for whole names; topics that come "
        "later are read too.",
    )
    starting_offsets: str = prop(
        "starting.offsets",
        default="earliest",
        doc="Where the first run begins: `earliest`, `latest`, or Spark's JSON of topics and "
        "partitions. Later runs go on where the checkpoint is.",
    )
    max_offsets_per_trigger: int | None = prop(
        "max.offsets.per.trigger",
        default=None,
        ge=1,
        doc="Records of one micro-batch at most. Not set: all there are.",
    )
    min_partitions: Count | None = prop(
        "min.partitions",
        default=None,
        doc="Tasks that read at least; large Kafka partitions are split.",
    )
    fail_on_data_loss: bool = prop(
        "fail.on.data.loss",
        default=True,
        doc="Stop when records are gone from Kafka before they were read.",
    )

    def reader_options(self) -> dict[str, str]:
        """Options of Spark's Kafka source, headers included."""
        options = {f"kafka.{name}": value for name, value in self.kafka.items()}
        options["includeHeaders"] = "true"
        options["startingOffsets"] = self.starting_offsets
        options["failOnDataLoss"] = str(self.fail_on_data_loss).lower()
        if self.topics:
            options["subscribe"] = ",".join(self.topics)
        else:
            # Spark takes a name of which a part matches.
            options["subscribePattern"] = f"^(?:{self.topics_pattern})$"
        optional = {
            "maxOffsetsPerTrigger": self.max_offsets_per_trigger,
            "minPartitions": self.min_partitions,
        }
        return options | {name: str(value) for name, value in optional.items() if value is not None}

    def subscription(self) -> str:
        """The topics as one text, equal for equal subscriptions."""
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
                        f"{_OFFSETS}; `{topic}` has the partition `{number}` at `{offset}`, and "
                        "both are whole numbers (-2 the earliest offset, -1 the latest)"
                    )
        return value

    @model_validator(mode="after")
    def _one_subscription(self) -> "SourceOptions":
        if bool(self.topics) == bool(self.topics_pattern):
            raise ValueError("`topics` or `topics.pattern` must be set, and not both")
        if not self.kafka.get("bootstrap.servers"):
            raise ValueError("`kafka.bootstrap.servers` must be set")
        try:
            broker_list(self.kafka["bootstrap.servers"])
        except ValueError as error:
            raise ValueError(f"`kafka.bootstrap.servers` {error}") from error
        for name, reason in _OURS.items():
            if name.removeprefix("kafka.") in self.kafka:
                raise ValueError(f"`{name}` cannot be set: {reason}")
        problem = next(kafka_problems("kafka.", self.kafka), None)
        if problem is not None:
            raise ValueError(problem)
        self._check_named_topics()
        return self

    def _check_named_topics(self) -> None:
        """Spark wants every partition of every topic, or none."""
        if not self.topics or not self.starting_offsets.startswith("{"):
            return
        named = set(json.loads(self.starting_offsets))
        if named != set(self.topics):
            raise ValueError(
                f"`starting.offsets` names {', '.join(sorted(named))}, and `topics` names "
                f"{', '.join(sorted(self.topics))}: Spark takes offsets of all topics or of none"
            )

    def warnings(self) -> tuple[str, ...]:
        return (*super().warnings(), *kafka_warnings("kafka.", self.kafka))
