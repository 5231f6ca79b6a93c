"""Options of Kafka's source and producer, and checks of settings for Kafka's Java client."""

import json
import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import ClassVar

from pydantic import field_validator, model_validator

from sidecar.properties.addresses import broker_list
from sidecar.properties.model import PassThrough, Properties, pass_through, prop
from spark_jobs.options.job import SessionOptions, StreamOptions
from spark_jobs.options.types import Count, TopicList, TopicPattern

_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_MECHANISMS = ("GSSAPI", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
_KNOWN_NAMES = """
    acks batch.size bootstrap.servers buffer.memory client.dns.lookup client.id compression.type
    connections.max.idle.ms default.api.timeout.ms delivery.timeout.ms enable.idempotence
    fetch.max.bytes fetch.max.wait.ms fetch.min.bytes isolation.level linger.ms max.block.ms
    max.in.flight.requests.per.connection max.partition.fetch.bytes max.poll.interval.ms
    max.poll.records max.request.size metadata.max.age.ms receive.buffer.bytes
    reconnect.backoff.max.ms reconnect.backoff.ms request.timeout.ms retries retry.backoff.ms
    sasl.client.callback.handler.class sasl.jaas.config sasl.kerberos.service.name
    sasl.login.callback.handler.class sasl.mechanism sasl.oauthbearer.token.endpoint.url
    security.protocol send.buffer.bytes session.timeout.ms ssl.endpoint.identification.algorithm
    ssl.key.password ssl.keystore.key ssl.keystore.location ssl.keystore.password ssl.keystore.type
    ssl.truststore.certificates ssl.truststore.location ssl.truststore.password ssl.truststore.type
"""
_NAMES = frozenset(_KNOWN_NAMES.split())
"""Known settings of Kafka's Java clients, for detecting misspelled names."""
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
_ALL_REPLICAS = ("all", "-1")


def _require_client(prefix: str, settings: Mapping[str, str]) -> None:
    """Raise ValueError for servers or security settings that Kafka's client would reject."""
    try:
        broker_list(settings["bootstrap.servers"])
    except ValueError as error:
        raise ValueError(f"`{prefix}bootstrap.servers` {error}") from error
    if problem := next(kafka_problems(prefix, settings), None):
        raise ValueError(problem)


def kafka_problems(prefix: str, settings: Mapping[str, str]) -> Iterator[str]:
    """Yield an error for each security setting that Kafka's Java client would reject or ignore.

    `prefix` is the prefix of the options, such as `kafka.`.
    """
    protocol, mechanism = settings.get("security.protocol"), settings.get("sasl.mechanism")
    if protocol is not None and protocol.strip().upper() not in _PROTOCOLS:
        yield (
            f"`{prefix}security.protocol` must be one of {', '.join(_PROTOCOLS)}, not `{protocol}`"
        )
    if mechanism is not None and mechanism.strip().upper() not in _MECHANISMS:
        yield f"`{prefix}sasl.mechanism` must be one of {', '.join(_MECHANISMS)}, not `{mechanism}`"
    if protocol is not None:
        return
    for start, remedy in (("sasl.", "SASL_SSL or SASL_PLAINTEXT"), ("ssl.", "SSL")):
        name = next((name for name in sorted(settings) if name.startswith(start)), None)
        if name is not None:
            yield (
                f"`{prefix}{name}` is set without `{prefix}security.protocol`, so the connection "
                f"would be plaintext. Set it to {remedy}"
            )
            return


def kafka_warnings(prefix: str, settings: Mapping[str, str]) -> Iterator[str]:
    """Yield a warning for each name that is probably a misspelled setting of Kafka's client."""
    for name in sorted(settings.keys() - _NAMES):
        nearest = get_close_matches(name, _NAMES, n=1, cutoff=0.9)
        if nearest:
            yield (f"`{prefix}{name}` is not a known setting. Did you mean `{prefix}{nearest[0]}`?")


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
        doc="Maximum number of records in a micro-batch. Defaults to no limit.",
    )
    min_partitions: Count | None = prop(
        "min.partitions",
        default=None,
        doc="Minimum number of tasks that read. Spark splits large Kafka partitions.",
    )
    fail_on_data_loss: bool = prop(
        "fail.on.data.loss",
        default=True,
        doc="Whether the job fails if Kafka deleted records before the job read them.",
    )

    @property
    def has_source(self) -> bool:
        return bool(self.topics or self.topics_pattern)

    def reads(self, topic: str) -> bool:
        if self.topics_pattern is None:
            return topic in self.topics
        try:
            return re.fullmatch(self.topics_pattern, topic) is not None
        except re.error:
            # The pattern is valid only in Java.
            return False

    def reader_options(self, *, is_limited: bool = True) -> dict[str, str]:
        """Options of Spark's Kafka source; `max.offsets.per.trigger` only if `is_limited`."""
        options = {f"kafka.{name}": value for name, value in self.kafka.items()}
        options["includeHeaders"] = "true"
        options["startingOffsets"] = self.starting_offsets
        options["failOnDataLoss"] = str(self.fail_on_data_loss).lower()
        if self.topics:
            options["subscribe"] = ",".join(self.topics)
        else:
            # Without anchors, Spark would also match a part of a name.
            options["subscribePattern"] = f"^(?:{self.topics_pattern})$"
        optional = {
            "maxOffsetsPerTrigger": self.max_offsets_per_trigger if is_limited else None,
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
                raise ValueError(f"{_OFFSETS}; `{topic}` lists no partitions")
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
        for name, reason in _FIXED.items():
            if name.removeprefix("kafka.") in self.kafka:
                raise ValueError(f"`{name}` cannot be set: {reason}")
        _require_client("kafka.", self.kafka)
        self._check_named_topics()
        return self

    def _check_named_topics(self) -> None:
        """Raise ValueError unless offsets cover all topics or none, as Spark requires."""
        if not self.topics or not self.starting_offsets.startswith("{"):
            return
        named = set(json.loads(self.starting_offsets))
        if named != set(self.topics):
            raise ValueError(
                f"`starting.offsets` contains {', '.join(sorted(named))}, but `topics` contains "
                f"{', '.join(sorted(self.topics))}. Use the same topics in both"
            )

    def warnings(self) -> tuple[str, ...]:
        return (*super().warnings(), *kafka_warnings("kafka.", self.kafka))


class TopicJobOptions(SessionOptions, StreamOptions, SourceOptions):
    """A job that reads topics from the offsets of its checkpoint."""


class ProducerOptions(Properties):
    """The Kafka producer. It also uses the source's `kafka.*` settings unless it has servers."""

    sink_kafka: PassThrough = pass_through(
        "sink.kafka.",
        doc="Settings of the Kafka producer. Without `sink.kafka.bootstrap.servers`, the job "
        "writes to the source's cluster and also uses its `kafka.*` settings.",
    )

    @model_validator(mode="after")
    def _producer_is_valid(self) -> "ProducerOptions":
        if "bootstrap.servers" in self.sink_kafka:
            _require_client("sink.kafka.", self.sink_kafka)
        acks = self.sink_kafka.get("acks")
        if acks is not None and acks.strip() not in _ALL_REPLICAS:
            raise ValueError(
                f"`sink.kafka.acks` must be `all`, not `{acks}`, because a failed leader would "
                "lose events that no follower has stored"
            )
        return self

    def producer_settings(self) -> dict[str, str]:
        given = dict(self.sink_kafka)
        source: dict[str, str] = getattr(self, "kafka", {})
        settings = given if "bootstrap.servers" in given else {**source, **given}
        return {f"kafka.{name}": value for name, value in settings.items()}

    def warnings(self) -> tuple[str, ...]:
        return (*super().warnings(), *kafka_warnings("sink.kafka.", self.sink_kafka))
