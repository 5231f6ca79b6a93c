"""Which topics are read, and how."""

import json

from pydantic import field_validator, model_validator

from sidecar.properties import (
    CommaList,
    PassThrough,
    Properties,
    broker_list,
    pass_through,
    prop,
)

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
    topics: CommaList = prop("topics", default=(), doc="Topics to read.")
    topics_pattern: str | None = prop(
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
    min_partitions: int | None = prop(
        "min.partitions",
        default=None,
        ge=1,
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
        if value in ("earliest", "latest"):
            return value
        try:
            offsets = json.loads(value)
        except ValueError as error:
            raise ValueError(
                'must be `earliest`, `latest`, or JSON such as `{"topic":{"0":23}}`'
            ) from error
        if not isinstance(offsets, dict):
            raise ValueError('must be JSON such as `{"topic":{"0":23}}`')
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
        return self
