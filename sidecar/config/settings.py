"""The properties that both agents share; each agent adds its own in a subclass."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, field_validator, model_validator

from sidecar.errors import ConfigError
from sidecar.fleet.target import parse_target
from sidecar.http.hosts import allowed_host_problems
from sidecar.logs import LogFormat, LogLevel
from sidecar.properties.addresses import bare_host
from sidecar.properties.model import PassThrough, Properties, pass_through, prop
from sidecar.properties.secrets import shown_text
from sidecar.properties.types import (
    ByteSize,
    CommaList,
    LogLevelName,
    LowerCase,
    Milliseconds,
    TopicName,
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
            raise ValueError(f"must not contain `{name.strip()}`, which all names contain")
    return values


def _host_names(values: tuple[str, ...]) -> tuple[str, ...]:
    if problems := allowed_host_problems(values):
        raise ValueError(problems[0])
    return values


def _dns_name(name: str | None) -> str | None:
    if name is not None and ("/" in name or parse_target(name).problem):
        raise ValueError("must be a host name, or host:port")
    return name


def _function_name(name: str | None) -> str | None:
    if name is not None and not _FUNCTION.fullmatch(name):
        raise ValueError("must be module:function")
    return name


class SidecarProperties(Properties):
    """Sink, in-flight window, offsets, HTTP, logs and shutdown."""

    sink: Annotated[SinkName, LowerCase] = prop(
        "sink", default="kafka", doc="Destination of events."
    )
    file_path: Path | None = prop(
        "file.path",
        default=None,
        doc="File to which the sink `file` appends one JSON line per event.",
    )
    kafka_producer: PassThrough = pass_through(
        "kafka.producer.",
        doc="Kafka producer settings under their Java names. The sink `kafka` requires "
        "`bootstrap.servers`.",
    )
    topic_creation_enable: bool = prop(
        "topic.creation.enable",
        default=False,
        doc="Whether the agent creates missing topics. Otherwise, delivery waits for the topic.",
    )
    topic_creation_default: PassThrough = pass_through(
        "topic.creation.default.",
        doc="Settings for new topics: `partitions`, `replication.factor` (-1: the broker's "
        "default), and any topic setting such as `cleanup.policy`.",
    )
    dead_letter_topic: TopicName = prop(
        "errors.deadletterqueue.topic.name",
        default=None,
        doc="Topic for events that Kafka rejects, as in Kafka Connect. Without it, or if it "
        "rejects an event too, the agent stores the event in the quarantine "
        "(docs/how-to/dead-letters.md).",
    )
    dead_letter_context: bool = prop(
        "errors.deadletterqueue.context.headers.enable",
        default=True,
        doc="Whether messages in the dead-letter topic carry headers with the original topic and "
        "the reason: `__connect.errors.*` and `cdc.dead.letter.*`.",
    )
    event_transform: Annotated[str | None, AfterValidator(_function_name)] = prop(
        "event.transform",
        default=None,
        doc="`module:function`, a Python function that the agent calls for every event before the "
        "sink. The function can change the topic or mask values, and costs CPU for every event "
        "(docs/how-to/transform.md).",
    )
    inflight_max_events: int = prop(
        "inflight.max.events",
        default=100_000,
        ge=1,
        doc="Maximum number of events that are read but not yet acknowledged. After a crash, the "
        "agent repeats at most this many, plus the events since the last saved offsets.",
    )
    inflight_max_bytes: ByteSize = prop(
        "inflight.max.bytes",
        default=16 << 20,
        ge=1,
        doc="Maximum size of the keys and values of events that are read but not acknowledged.",
    )
    offset_directory: Path = prop("offset.backing.store.dir", doc="Directory of the offset file.")
    offset_flush_interval_ms: Milliseconds = prop(
        "offset.flush.interval.ms",
        default=1000,
        doc="Minimum time between two saves of the offsets. The agent also saves them at shutdown.",
    )
    http_host: Annotated[str, AfterValidator(bare_host)] = prop(
        "http.host",
        is_per_node=True,
        default="127.0.0.1",
        min_length=1,
        doc="Address on which the agent serves health, metrics and offsets. Probes and scrapers on "
        "other machines need `*` (all addresses, IPv4 and IPv6), `0.0.0.0` (all IPv4 addresses) "
        "or one address.",
    )
    http_token_file: Path | None = prop(
        "http.token.file",
        default=None,
        doc="File with the token that state-changing requests must send as `Authorization: Bearer "
        "TOKEN`. Without it, they need no token. Read-only requests never need one.",
    )
    http_allowed_hosts: Annotated[CommaList, AfterValidator(_host_names)] = prop(
        "http.allowed.hosts",
        is_per_node=True,
        default=(),
        doc="Host names that the agent accepts in HTTP requests, besides IP addresses and this "
        "machine's names. `.example.com` matches every name below it, `*` any name. The list "
        "protects against DNS rebinding (docs/explanation/security.md); `*` switches this off.",
    )
    http_port: int = prop(
        "http.port",
        is_per_node=True,
        default=8000,
        ge=0,
        le=65535,
        doc="Port of the HTTP server; 0 for any free port.",
    )
    fleet_targets_file: Path | None = prop(
        "fleet.targets.file",
        default=None,
        doc="File with agent addresses, one `host:port` or URL per line, for the command "
        "`fleet` (docs/how-to/fleet.md). The agent itself does not read it.",
    )
    fleet_dns: Annotated[str | None, AfterValidator(_dns_name)] = prop(
        "fleet.dns",
        default=None,
        doc="Host name whose A and AAAA records are agent addresses, for the command `fleet`. Add "
        "a port other than 8000 as `name:port`.",
    )
    custom_metric_tags: Annotated[CommaList, AfterValidator(_tags)] = prop(
        "custom.metric.tags",
        default=(),
        doc="`name=value` pairs to add as labels at `/metrics/jmx`, besides `plugin`, `name` and "
        "`context`. For `/metrics`, add labels in the scrape configuration.",
    )
    log_format: Annotated[LogFormat, LowerCase] = prop(
        "log.format", default="text", doc="Format of log lines."
    )
    log_level: Annotated[LogLevel, LogLevelName] = prop(
        "log.level", default="info", doc="Minimum level of log lines."
    )
    access_denied_action: Annotated[Literal["wait", "exit"], LowerCase] = prop(
        "access.denied.action",
        default="wait",
        doc="Action when Kafka, the database or a schema registry rejects the agent's "
        "credentials or denies access. `wait`: the agent is not ready and retries with a "
        "back-off of up to 30 s. `exit`: the agent exits with code 4.",
    )
    shutdown_timeout_ms: Milliseconds = prop(
        "shutdown.timeout.ms",
        default=20_000,
        doc="Maximum time to wait for acknowledgements of in-flight events when the agent stops.",
    )

    @property
    def waits_when_denied(self) -> bool:
        """Whether the agent retries after access was denied (`access.denied.action`)."""
        return self.access_denied_action == "wait"

    @property
    def destination(self) -> str:
        """The sink and its address without secrets, such as `kafka broker1:9092,broker2:9092`."""
        match self.sink:
            case "kafka":
                address = self.kafka_producer.get("bootstrap.servers", "")
            case "file":
                address = "" if self.file_path is None else str(self.file_path)
            case _:
                address = ""
        return f"{self.sink} {shown_text(address)}".strip()

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
                f"`http.host={self.http_host}` without `http.token.file`: every client that "
                "reaches the port can start and stop snapshots. Set http.token.file.",
            )
        return super().warnings() + sentences

    @model_validator(mode="after")
    def _sink_has_its_settings(self) -> "SidecarProperties":
        if self.sink == "file" and self.file_path is None:
            raise ValueError("`file.path` must be set for the sink `file`")
        if self.sink != "kafka" and self.dead_letter_topic is not None:
            raise ValueError("`errors.deadletterqueue.topic.name` needs the sink `kafka`")
        if self.sink == "kafka" and not self.kafka_producer.get("bootstrap.servers"):
            raise ValueError("`kafka.producer.bootstrap.servers` must be set for the sink `kafka`")
        return self
