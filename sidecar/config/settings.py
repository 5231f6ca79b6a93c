"""The properties that every sidecar has; an agent adds its own in a subclass."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, field_validator, model_validator

from sidecar.errors import ConfigError
from sidecar.http.guard import allowed_host_problems
from sidecar.logs import LogFormat, LogLevel
from sidecar.properties import (
    ByteSize,
    CommaList,
    LogLevelName,
    LowerCase,
    Milliseconds,
    PassThrough,
    Properties,
    bare_host,
    pass_through,
    prop,
)
from sidecar.sinks.kafka.config.client_config import client_properties
from sidecar.sinks.kafka.config.security import unused_security
from sidecar.sinks.kafka.topics.settings import topic_setting_problems, topic_setting_warnings

_FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")

_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})

SinkName = Literal["kafka", "file", "stdout"]


def _tags(values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        name, equals, text = value.partition("=")
        if not (equals and re.fullmatch(r"\w[\w.-]*", name.strip()) and text.strip()):
            raise ValueError("must be a list of `name=value`, separated by commas")
        if name.strip() in ("type", "context", "server", "task"):
            raise ValueError(f"must not hold `{name.strip()}`, which is a part of the name anyway")
    return values


def _host_names(values: tuple[str, ...]) -> tuple[str, ...]:
    if problems := allowed_host_problems(values):
        raise ValueError(problems[0])
    return values


def _function_name(name: str | None) -> str | None:
    if name is not None and not _FUNCTION.fullmatch(name):
        raise ValueError("must be module:function")
    return name


class SidecarProperties(Properties):
    """Sink, window, progress, HTTP, logs and the end of the process."""

    sink: Annotated[SinkName, LowerCase] = prop("sink", default="kafka", doc="Where events go.")
    file_path: Path | None = prop(
        "file.path",
        default=None,
        doc="File that the sink `file` appends to, one JSON line an event.",
    )
    kafka_producer: PassThrough = pass_through(
        "kafka.producer.",
        doc="Settings of the Kafka producer under their Java names; the sink `kafka` needs "
        "`bootstrap.servers`.",
    )
    topic_creation_enable: bool = prop(
        "topic.creation.enable",
        default=False,
        doc="Create a topic that does not exist. Otherwise delivery waits until it exists.",
    )
    topic_creation_default: PassThrough = pass_through(
        "topic.creation.default.",
        doc="How a topic is created: `partitions`, `replication.factor` (-1: the broker's "
        "default), and any topic setting such as `cleanup.policy`.",
    )
    event_transform: Annotated[str | None, AfterValidator(_function_name)] = prop(
        "event.transform",
        default=None,
        doc="`module:function`, a Python function that every event goes through on its way to the "
        "sink, to route it to another topic or to mask parts of it (docs/how-to/transform.md). "
        "It costs CPU for every event.",
    )
    inflight_max_events: int = prop(
        "inflight.max.events",
        default=100_000,
        ge=1,
        doc="Events that may be read and not yet acknowledged. At most this many are repeated "
        "after a crash, besides what came after the last save of the offsets.",
    )
    inflight_max_bytes: ByteSize = prop(
        "inflight.max.bytes",
        default=16 << 20,
        ge=1,
        doc="Keys and values of such events.",
    )
    offset_directory: Path = prop(
        "offset.backing.store.dir", doc="Directory of the file that holds the progress."
    )
    offset_flush_interval_ms: Milliseconds = prop(
        "offset.flush.interval.ms",
        default=1000,
        doc="Shortest time between two saves of the progress; it is saved at a stop too.",
    )
    http_host: Annotated[str, AfterValidator(bare_host)] = prop(
        "http.host",
        default="127.0.0.1",
        min_length=1,
        doc="Address that health, metrics and offsets are served on; `0.0.0.0` for probes and "
        "scrapers of other machines.",
    )
    http_token_file: Path | None = prop(
        "http.token.file",
        default=None,
        doc="A file with the token that requests which change something must bring, as "
        "`Authorization: Bearer …`. Not set: they need none. What only looks never does.",
    )
    http_allowed_hosts: Annotated[CommaList, AfterValidator(_host_names)] = prop(
        "http.allowed.hosts",
        default=(),
        doc="Names by which the agent may be asked over HTTP, besides IP addresses and the names "
        "of this machine; `.example.com` is every name below it, `*` is any. It keeps web pages "
        "from reaching the agent by DNS rebinding (docs/explanation/security.md).",
    )
    http_port: int = prop(
        "http.port", default=8000, ge=0, le=65535, doc="Port; 0 takes a free one."
    )
    custom_metric_tags: Annotated[CommaList, AfterValidator(_tags)] = prop(
        "custom.metric.tags",
        default=(),
        doc="`name=value` pairs that the names of Debezium's beans have at `/jolokia`, besides "
        "`type`, `context` and `server`. For Prometheus add labels where metrics are scraped.",
    )
    log_format: Annotated[LogFormat, LowerCase] = prop(
        "log.format", default="text", doc="Log lines as text or as JSON objects."
    )
    log_level: Annotated[LogLevel, LogLevelName] = prop(
        "log.level", default="info", doc="Least level that is logged."
    )
    refused_action: Annotated[Literal["wait", "exit"], LowerCase] = prop(
        "refused.action",
        default="wait",
        doc="What the agent does when Kafka, the database or a schema registry refuses its "
        "credentials or its rights. `wait`: it stays up, is not ready and tries again after "
        "growing pauses of up to 30 s. `exit`: it ends with exit code 4.",
    )
    shutdown_timeout_ms: Milliseconds = prop(
        "shutdown.timeout.ms",
        default=20_000,
        doc="Time to bring events that are on their way to an end when the process is stopped.",
    )

    @property
    def waits_when_refused(self) -> bool:
        """Whether a refusal is waited for (`refused.action`)."""
        return self.refused_action == "wait"

    @property
    def metric_tags(self) -> Mapping[str, str]:
        """`custom.metric.tags` by name."""
        parts = (tag.partition("=") for tag in self.custom_metric_tags)
        return {name.strip(): value.strip() for name, _, value in parts}

    @field_validator("kafka_producer")
    @classmethod
    def _known_to_the_client(cls, value: PassThrough) -> PassThrough:
        try:
            client_properties(value)
        except ConfigError as error:
            raise ValueError("\n".join(error.problems)) from error
        problems = list(unused_security(value))
        if problems:
            raise ValueError("\n".join(problems))
        return value

    @field_validator("topic_creation_default")
    @classmethod
    def _known_to_kafka(cls, value: PassThrough) -> PassThrough:
        problems = list(topic_setting_problems(value))
        if problems:
            raise ValueError("\n".join(problems))
        return value

    def warnings(self) -> tuple[str, ...]:
        sentences = client_properties(self.kafka_producer).warnings
        sentences += tuple(
            topic_setting_warnings(self.topic_creation_enable, self.topic_creation_default)
        )
        if self.http_host not in _LOOPBACK and self.http_token_file is None:
            sentences += (
                f"`http.host={self.http_host}` without `http.token.file`: whoever reaches the port "
                "can ask for copies and stop them.",
            )
        return super().warnings() + sentences

    @model_validator(mode="after")
    def _sink_has_its_settings(self) -> "SidecarProperties":
        if self.sink == "file" and self.file_path is None:
            raise ValueError("`file.path` must be set for the sink `file`")
        if self.sink == "kafka" and not self.kafka_producer.get("bootstrap.servers"):
            raise ValueError("`kafka.producer.bootstrap.servers` must be set for the sink `kafka`")
        return self
