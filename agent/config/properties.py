"""Properties of events, the node and segments, grouped as in the configuration reference.

Names are Debezium's where Debezium has the property; `agent.config.debezium` has its others.
"""

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, SecretStr

from agent.config.patterns import validated_expressions
from sidecar.properties.addresses import bare_host
from sidecar.properties.model import Properties, prop
from sidecar.properties.topic_names import TopicName, TopicPrefix
from sidecar.properties.types import (
    ByteSize,
    CommaList,
    LowerCase,
    Milliseconds,
    Unit,
    UpperCase,
    words,
)
from sidecar.store.registry import STORES, parse_remote_directory
from sidecar.store.remote_directory import RemoteDirectory

_MIB = 1 << 20
_DEBEZIUM = "io.debezium.connector.cassandra"


_LOCAL_TRANSFERS = ("delete", "archive")
_OWN_CLASS = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def _transfer_name(value: Any) -> Any:
    """Debezium's value is a class name; its package and suffix are ignored."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if _OWN_CLASS.fullmatch(text):
        return text
    short = text.removeprefix(f"{_DEBEZIUM}.").removesuffix("CommitLogTransfer").lower()
    name = {"blackhole": "delete", "local": "archive"}.get(short, short)
    if name not in (*_LOCAL_TRANSFERS, *STORES):
        known = ", ".join(f"'{each}'" for each in (*_LOCAL_TRANSFERS, *STORES))
        raise ValueError(f"must be {known} or a Python class, 'module:Class'")
    return name


def _remote_directory(value: Any) -> Any:
    return parse_remote_directory(value) if isinstance(value, str) else value


def _hosts(values: tuple[str, ...]) -> tuple[str, ...]:
    try:
        return tuple(bare_host(value) for value in values)
    except ValueError as error:
        raise ValueError(f"{error}; use `cassandra.port` for the port") from error


_OPERATIONS: dict[str, Literal["i", "u", "d", "r"]] = {
    "c": "i",
    "i": "i",
    "u": "u",
    "d": "d",
    "r": "r",
}
"""Debezium's letters and those of this connector, to the letter of the event."""
SkippedOperations = Annotated[
    CommaList,
    words(
        (*_OPERATIONS, "t", "none"),
        "`none`, or a list of `c` or `i` (inserts), `u` (updates), `d` (deletions of rows and "
        "partitions), `r` (deletions of ranges) and `t` (truncations)",
    ),
]

TransferName = Annotated[
    str,
    BeforeValidator(_transfer_name),
    Unit(f"{', '.join(f'`{name}`' for name in (*_LOCAL_TRANSFERS, *STORES))} or `module:Class`"),
]
"""A local transfer, a kind of store, or a Python class."""
TableList = Annotated[CommaList, AfterValidator(validated_expressions)]


class EventProperties(Properties):
    topic_prefix: TopicPrefix = prop(
        "topic.prefix",
        aliases=["kafka.topic.prefix"],
        doc="First part of every topic name, `<topic.prefix>.<keyspace>.<table>`: letters, "
        "digits, `.`, `_` and `-`. In keyspaces and tables `_` replaces characters that Kafka "
        "does not allow. The prefix is recorded with the offsets; the agent does not start with "
        "another one.",
        min_length=1,
    )
    kafka_partition_by: Annotated[Literal["partition_key", "key"], LowerCase] = prop(
        "kafka.partition.by",
        default="partition_key",
        doc="Input of the Kafka partitioner. `partition_key`: the Cassandra partition key, "
        "which keeps the rows and deletions of a partition in order. `key`: the whole message "
        "key, as in Debezium.",
    )
    event_cells: bool = prop(
        "event.cells",
        default=True,
        doc="Whether values contain `cells`: every cell with its write time, TTL and raw bytes, "
        "for an exact merge. Without `cells` values match Debezium's.",
    )
    tombstones_on_delete: bool = prop(
        "tombstones.on.delete",
        default=False,
        doc="Whether a message without a value follows each deletion of a row or a partition. It "
        "has the key and id of the event. Do not compact the topic: an event is not a whole row.",
    )
    event_op_style: Annotated[Literal["native", "envelope"], LowerCase] = prop(
        "event.op.style",
        default="native",
        doc="`native`: `i` insert, `u` update, `d` delete, `r` range, as in Debezium's connector. "
        "`envelope`: `c`, `u`, `d`, `t`.",
    )
    event_layout: Annotated[Literal["debezium-3", "debezium-1.x"], LowerCase] = prop(
        "event.layout",
        default="debezium-3",
        doc="Layout of values: that of a Debezium release line. `debezium-1.x`: `source` has "
        "`ts_micro` and a boolean `snapshot`, and only events of ranges have `_range_start` and "
        "`_range_end`. With `event.cells=false` such values match those releases.",
    )
    event_source_epoch: bool = prop(
        "event.source.epoch",
        default=False,
        doc="Whether `source` contains `epoch`: the epoch of the table's definition that the event "
        "was written with. Only logs of Cassandra 6.0 and later have it; otherwise it is null.",
    )
    skipped_operations: SkippedOperations = prop(
        "skipped.operations",
        default=("none",),
        doc="Changes without an event: `c` or `i` inserts, `u` updates, `d` deletions of rows and "
        "partitions, `r` deletions of ranges. `t` (truncations, which the log does not have) and "
        "`none` skip nothing. The letters are these in every `event.op.style`. The agent counts "
        "skipped events; rows of snapshots are never skipped.",
    )
    counter_events: Annotated[Literal["skip", "shards"], LowerCase] = prop(
        "counter.events",
        default="skip",
        doc="Events of counter tables. `skip`: none; the agent counts the skipped updates. "
        "`shards`: the count of each leader so far, which is not the value of the counter, and "
        "its increment where the agent knows it.",
    )
    counter_history_max_bytes: ByteSize = prop(
        "counter.history.max.bytes",
        default=16 * _MIB,
        doc="With `counter.events=shards`: memory for the latest shards, which the agent needs to "
        "compute increments. `0`: no increments.",
    )
    table_include_list: TableList = prop(
        "table.include.list",
        default=(),
        doc="Regular expressions over whole `keyspace.table` names; the agent publishes only "
        "these tables. Write a backslash twice, as in every properties file. Empty: all tables "
        "with `cdc = true`.",
    )
    table_exclude_list: TableList = prop(
        "table.exclude.list",
        default=(),
        doc="Regular expressions over whole `keyspace.table` names; the agent does not publish "
        "these tables.",
    )
    include_schema_changes: bool = prop(
        "include.schema.changes",
        default=False,
        doc="Whether the agent sends a message for each change of a published table's definition, "
        "and one for each published table at its first start "
        "(docs/reference/schema-changes.md).",
    )
    schema_changes_topic: TopicName = prop(
        "schema.changes.topic",
        default=None,
        doc="Topic of the messages of `include.schema.changes`. Not set: the topic with the name "
        "`topic.prefix`, as in Debezium. Give it one partition.",
    )
    tracing_enabled: bool = prop(
        "tracing.enabled",
        default=False,
        doc="Whether the agent creates OpenTelemetry spans for each segment and batch, and a "
        "`traceparent` header on every event. Needs the extra `tracing`. OpenTelemetry's "
        "environment variables, such as `OTEL_EXPORTER_OTLP_ENDPOINT`, set the destination.",
    )

    @property
    def schema_topic(self) -> str | None:
        """The topic for schema changes; None without one."""
        if not self.include_schema_changes:
            return None
        return self.schema_changes_topic or self.topic_prefix

    @property
    def skipped_letters(self) -> frozenset[Literal["i", "u", "d", "r"]]:
        """Letters of the events that are not published."""
        letters = (_OPERATIONS.get(each) for each in self.skipped_operations)
        return frozenset(letter for letter in letters if letter is not None)


class NodeProperties(Properties):
    cassandra_config: Path | None = prop(
        "cassandra.config",
        default=None,
        doc="The node's `cassandra.yaml`. The agent reads directories, `cdc_total_space`, "
        "`commitlog_sync_period`, cluster name, address, port and keystore from it.",
    )
    cdc_raw_directory: Path | None = prop(
        "cdc.raw.directory",
        default=None,
        doc="The node's `cdc_raw`, when `cassandra.config` is not set or does not name it.",
    )
    cassandra_hosts: Annotated[CommaList, AfterValidator(_hosts)] = prop(
        "cassandra.hosts",
        default=(),
        is_per_node=True,
        doc="CQL address of the node. Empty: the address in `cassandra.config`, else `localhost`. "
        "With several addresses the agent identifies itself by the one of this machine.",
    )
    cassandra_port: int | None = prop(
        "cassandra.port",
        default=None,
        ge=1,
        le=65535,
        doc="CQL port of the node. Not set: the port in `cassandra.config`, else 9042.",
    )
    cassandra_username: str | None = prop(
        "cassandra.username", default=None, min_length=1, doc="CQL user."
    )
    cassandra_password: SecretStr | None = prop(
        "cassandra.password",
        default=None,
        secret=True,
        min_length=1,
        doc="Password of the CQL user. `${file:/path}` and `${env:NAME}` store it elsewhere.",
    )
    cassandra_ssl_enabled: bool = prop(
        "cassandra.ssl.enabled", default=False, doc="Whether the CQL connection uses TLS."
    )
    cassandra_ssl_config_path: Path | None = prop(
        "cassandra.ssl.config.path",
        default=None,
        doc="A properties file with `trustStore.location`, `trustStore.password`, "
        "`keyStore.location` and `keyStore.password` (or `javax.net.ssl.*`): Java keystores (JKS "
        "or PKCS12) or PEM files. The next four properties override it.",
    )
    cassandra_ssl_ca_path: Path | None = prop(
        "cassandra.ssl.ca.path",
        default=None,
        doc="PEM file with the authorities that verify the node's certificate. Not set: "
        "`cassandra.ssl.config.path`, else those of the system.",
    )
    cassandra_ssl_certificate_path: Path | None = prop(
        "cassandra.ssl.certificate.path", default=None, doc="PEM file with the client certificate."
    )
    cassandra_ssl_key_path: Path | None = prop(
        "cassandra.ssl.key.path",
        default=None,
        doc="PEM file with the key of the client certificate, when it is in a separate file.",
    )
    cassandra_ssl_key_password: SecretStr | None = prop(
        "cassandra.ssl.key.password", default=None, secret=True, doc="Password of the client key."
    )
    cassandra_ssl_check_hostname: bool = prop(
        "cassandra.ssl.check.hostname",
        default=True,
        doc="Whether the node's certificate must contain the host name of the connection.",
    )
    cassandra_driver_config_file: Path | None = prop(
        "cassandra.driver.config.file",
        default=None,
        doc="Configuration file of DataStax' Java driver, as used by Debezium's connector. The "
        "agent reads `basic.contact-points`, `advanced.auth-provider` and "
        "`advanced.ssl-engine-factory`. Properties of this file override it.",
    )
    schema_file: Path | None = prop(
        "schema.file",
        default=None,
        doc="A file with the output of `DESCRIBE SCHEMA WITH INTERNALS`, used instead of the "
        "node's schema. The agent reads it again when it changes.",
    )
    schema_refresh_interval_ms: Milliseconds = prop(
        "schema.refresh.interval.ms",
        default=10_000,
        gt=0,
        doc="Interval between two reads of the schema. An unknown table or column triggers a read "
        "at once.",
    )
    node_id: str | None = prop(
        "node.id",
        aliases=["cassandra.node.id"],
        default=None,
        is_per_node=True,
        min_length=1,
        doc="Node id in the `cdc.source` header. Not set: the node's host id, or with "
        "`schema.file` the name of this machine. A node that is upgraded to 6.0 keeps the host id "
        "of the offsets.",
    )
    cluster_name: str | None = prop(
        "cluster.name",
        aliases=["cassandra.cluster.name"],
        default=None,
        min_length=1,
        doc="`source.cluster` of events. Not set: the name in `cassandra.config`, else the name "
        "that the node reports. With `schema.file` and no `cassandra.config`: `Test Cluster`, "
        "Cassandra's default.",
    )


class AccordProperties(Properties):
    accord_journal_enabled: bool = prop(
        "accord.journal.enabled",
        default=False,
        doc="Experimental, for Cassandra 6.0: whether the agent captures transactions from the "
        "node's Accord journal, which the commit log lacks. Needs a node that answers; not with "
        "`schema.file`. See docs/explanation/accord.md.",
    )
    accord_journal_directory: Path | None = prop(
        "accord.journal.directory",
        default=None,
        doc="The node's Accord journal. Not set: `accord.journal_directory` in "
        "`cassandra.config`, else `accord_journal` beside `cdc_raw`.",
    )


class SegmentProperties(Properties):
    """Segments, and what happens to finished ones."""

    relocation_directory: Path = prop(
        "commit.log.relocation.dir",
        doc="Directory with `archive`, `upload` (segments for the remote store) and `error` (the "
        "quarantine). Put it on the file system of `cdc_raw`, where a move is a rename.",
    )
    transfer: TransferName = prop(
        "commit.log.transfer.class",
        default="delete",
        doc="Handling of a segment after all its events are acknowledged. `delete`; "
        "`archive`: kept in `commit.log.relocation.dir`; `gcs` and `s3`: sent to Google Cloud "
        "Storage or S3, as are quarantined segments; `module:Class`: a Python class of yours "
        "(docs/how-to/transfer-class.md). `BlackHole`, `Local` and `GCS` are synonyms, as are "
        "Debezium's class names `io.debezium.connector.cassandra.BlackHoleCommitLogTransfer` and "
        "`…GCSCommitLogTransfer`.",
    )
    remote_directory: Annotated[RemoteDirectory | None, BeforeValidator(_remote_directory)] = prop(
        "remote.commit.log.relocation.dir",
        default=None,
        doc="With `gcs`: `gs://bucket/prefix` (or `gcs://…`); with `s3`: `s3://bucket/prefix`. "
        "Object names are `<node id>/archive/<file>`, and `<node id>/error/<file>` for "
        "quarantined segments.",
    )
    transfer_backlog_max_bytes: ByteSize = prop(
        "commit.log.transfer.backlog.max.bytes",
        default=1024 * _MIB,
        ge=1,
        doc="With a store or a class: limit of `upload` in `commit.log.relocation.dir`. A segment "
        "that does not fit stays in `cdc_raw`.",
    )
    transfer_chunk_bytes: ByteSize = prop(
        "commit.log.transfer.chunk.bytes",
        default=4 * _MIB,
        ge=256 << 10,
        doc="With a store: bytes of one request, in units of 256 KiB; with `s3` at least 5 MiB. "
        "The upload needs this much memory, and a lost connection repeats this much.",
    )
    transfer_timeout_ms: Milliseconds = prop(
        "commit.log.transfer.timeout.ms",
        default=60_000,
        gt=0,
        doc="With a store: timeout of a response, and time for which the agent repeats one "
        "request (`s3`: four attempts). After it the agent pauses and sends the segment again. "
        "With a class: time after which `/health` reports that it has not returned.",
    )
    transfer_retry_longest_ms: Milliseconds = prop(
        "commit.log.transfer.retry.max.ms",
        default=60_000,
        gt=0,
        doc="With a store or a class: longest pause between two attempts to send a segment. The "
        "first pause is one second; each doubles the last.",
    )
    error_reprocessing_enabled: bool = prop(
        "commit.log.error.reprocessing.enabled",
        default=False,
        doc="Whether every start reads all quarantined segments again, from their beginning, and "
        "sends their events again. With a store the agent fetches those in it, one at a time. "
        "`agent quarantine retry` does it once, for some segments.",
    )
    post_processing_enabled: bool = prop(
        "commit.log.post.processing.enabled",
        default=True,
        doc="`false` archives finished segments, whatever `commit.log.transfer.class` is.",
    )
    poll_interval_ms: Milliseconds = prop(
        "cdc.dir.poll.interval.ms",
        default=10_000,
        gt=0,
        doc="Interval between two scans of `cdc_raw`. With inotify, changes trigger a scan at "
        "once.",
    )
    keystore_path: Path | None = prop(
        "commit.log.keystore.path",
        default=None,
        doc="The node's keystore, for encrypted segments. Not set: the keystore of "
        "`transparent_data_encryption_options` in `cassandra.config`. The agent reads it when a "
        "segment needs it, and again when the file changes.",
    )
    keystore_password: SecretStr | None = prop(
        "commit.log.keystore.password",
        default=None,
        secret=True,
        doc="Password of the keystore. `${file:/path}` and `${env:NAME}` store it elsewhere.",
    )
    keystore_key_password: SecretStr | None = prop(
        "commit.log.keystore.key.password",
        default=None,
        secret=True,
        doc="Password of the keys in the keystore. Not set: that of the keystore.",
    )
    keystore_type: Annotated[Literal["JCEKS", "PKCS12", "JKS"] | None, UpperCase] = prop(
        "commit.log.keystore.type",
        default=None,
        doc="Type of the keystore. Not set: the agent detects it.",
    )
    blocked_timeout_ms: Milliseconds = prop(
        "segment.blocked.timeout.ms",
        default=600_000,
        doc="Time for which a record of an unknown table or column waits for the schema, or an "
        "encrypted segment for its key. After it the agent quarantines the segment.",
    )
    quarantine_max_bytes: ByteSize = prop(
        "quarantine.max.bytes",
        default=1024 * _MIB,
        doc="Limit of the quarantine. A segment that does not fit stays in `cdc_raw`.",
    )
