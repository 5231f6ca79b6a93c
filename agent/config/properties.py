"""The agent's properties, in the groups in which the manual shows them.

Names are Debezium's where Debezium has the property. What exists there and not here is in
`agent.config.debezium`.
"""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, SecretStr

from agent.config.patterns import validated_expressions
from agent.store import RemoteDirectory, parse_remote_directory
from sidecar.properties import (
    ByteSize,
    CommaList,
    LowerCase,
    Milliseconds,
    Properties,
    TopicPrefix,
    UpperCase,
    bare_host,
    prop,
)

_MIB = 1 << 20
_DEBEZIUM = "io.debezium.connector.cassandra"


def _transfer_name(value: Any) -> Any:
    """Debezium names a class; its package and the end of its name do not matter."""
    if not isinstance(value, str):
        return value
    short = value.strip().removeprefix(f"{_DEBEZIUM}.").removesuffix("CommitLogTransfer").lower()
    return {"blackhole": "delete", "local": "archive"}.get(short, short)


def _remote_directory(value: Any) -> Any:
    return parse_remote_directory(value) if isinstance(value, str) else value


def _hosts(values: tuple[str, ...]) -> tuple[str, ...]:
    try:
        return tuple(bare_host(value) for value in values)
    except ValueError as error:
        raise ValueError(f"{error}; `cassandra.port` is the port") from error


TransferName = Literal["delete", "archive", "gcs"]
TableList = Annotated[CommaList, AfterValidator(validated_expressions)]


class EventProperties(Properties):
    """What is published."""

    topic_prefix: TopicPrefix = prop(
        "topic.prefix",
        aliases=["kafka.topic.prefix"],
        doc="First part of every topic name: `<topic.prefix>.<keyspace>.<table>`, with `_` for "
        "characters of keyspaces and tables that Kafka does not allow. Letters, digits, `.`, `_` "
        "and `-`. Recorded with the offsets: a start with another prefix is refused.",
        min_length=1,
    )
    kafka_partition_by: Annotated[Literal["partition_key", "key"], LowerCase] = prop(
        "kafka.partition.by",
        default="partition_key",
        doc="What chooses the Kafka partition. `partition_key` keeps the deletions of a Cassandra "
        "partition and its rows in order; `key` hashes the whole message key, as Debezium does.",
    )
    event_cells: bool = prop(
        "event.cells",
        default=True,
        doc="Whether values carry `cells`: every cell with its write time, TTL and raw bytes, for "
        "an exact merge. Without it values are what Debezium sends.",
    )
    tombstones_on_delete: bool = prop(
        "tombstones.on.delete",
        default=False,
        doc="Whether a message with the key and id of the event and without a value follows each "
        "deletion of a row or a partition, so that compaction of the topic forgets the key.",
    )
    event_op_style: Annotated[Literal["native", "envelope"], LowerCase] = prop(
        "event.op.style",
        default="native",
        doc="`native`: `i` insert, `u` update, `d` delete, `r` range, as Debezium's connector "
        "sends them; `envelope`: `c`, `u`, `d`, `t`.",
    )
    counter_events: Annotated[Literal["skip", "shards"], LowerCase] = prop(
        "counter.events",
        default="skip",
        doc="What becomes of counter tables. `skip`: nothing, their updates are counted. `shards`: "
        "events with what each leader has counted so far, which is neither the counter's value "
        "nor a change of it; the change is beside it where it is known.",
    )
    counter_history_max_bytes: ByteSize = prop(
        "counter.history.max.bytes",
        default=16 * _MIB,
        doc="With `counter.events=shards`: memory for the shards that were seen last, from which "
        "the changes are reckoned. `0`: no changes.",
    )
    table_include_list: TableList = prop(
        "table.include.list",
        default=(),
        doc="Regular expressions over `keyspace.table`, matched whole; only these tables are "
        "published; a backslash is written twice, as in every properties file. Empty: all with "
        "`cdc = true`.",
    )
    table_exclude_list: TableList = prop(
        "table.exclude.list",
        default=(),
        doc="Regular expressions over `keyspace.table`, matched whole; these tables are not "
        "published.",
    )
    tracing_enabled: bool = prop(
        "tracing.enabled",
        default=False,
        doc="Spans of OpenTelemetry for each segment and batch, and a header `traceparent` on "
        "every event. Needs the extra `tracing`; where they go say OpenTelemetry's environment "
        "variables, such as `OTEL_EXPORTER_OTLP_ENDPOINT`.",
    )


class NodeProperties(Properties):
    """The node beside the agent."""

    cassandra_config: Path | None = prop(
        "cassandra.config",
        default=None,
        doc="The node's `cassandra.yaml`. Read: directories, `cdc_total_space`, "
        "`commitlog_sync_period`, cluster name, address and port, and where the keystore is.",
    )
    cdc_raw_directory: Path | None = prop(
        "cdc.raw.directory",
        default=None,
        doc="The node's `cdc_raw`, when there is no `cassandra.config` or it does not say.",
    )
    cassandra_hosts: Annotated[CommaList, AfterValidator(_hosts)] = prop(
        "cassandra.hosts",
        default=(),
        doc="The node's CQL address. Empty: what `cassandra.config` says, else `localhost`. With "
        "several, the one that is this machine is asked who it is.",
    )
    cassandra_port: int | None = prop(
        "cassandra.port",
        default=None,
        ge=1,
        le=65535,
        doc="The node's CQL port. Not set: what `cassandra.config` says, else 9042.",
    )
    cassandra_username: str | None = prop(
        "cassandra.username", default=None, min_length=1, doc="CQL user."
    )
    cassandra_password: SecretStr | None = prop(
        "cassandra.password",
        default=None,
        secret=True,
        min_length=1,
        doc="Password of that user; `${file:/path}` and `${env:NAME}` keep it out of this file.",
    )
    cassandra_ssl_enabled: bool = prop(
        "cassandra.ssl.enabled", default=False, doc="Whether CQL is spoken over TLS."
    )
    cassandra_ssl_config_path: Path | None = prop(
        "cassandra.ssl.config.path",
        default=None,
        doc="A properties file with `trustStore.location`, `trustStore.password`, "
        "`keyStore.location` and `keyStore.password` (also as `javax.net.ssl.*`): stores of Java "
        "(JKS or PKCS12) or PEM files. The four properties below go before it.",
    )
    cassandra_ssl_ca_path: Path | None = prop(
        "cassandra.ssl.ca.path",
        default=None,
        doc="PEM file with the authorities that the node's certificate is checked against. Not "
        "set: `cassandra.ssl.config.path`, else those of the system.",
    )
    cassandra_ssl_certificate_path: Path | None = prop(
        "cassandra.ssl.certificate.path", default=None, doc="PEM file with our own certificate."
    )
    cassandra_ssl_key_path: Path | None = prop(
        "cassandra.ssl.key.path",
        default=None,
        doc="PEM file with its key, when that is in another file.",
    )
    cassandra_ssl_key_password: SecretStr | None = prop(
        "cassandra.ssl.key.password", default=None, secret=True, doc="Password of that key."
    )
    cassandra_ssl_check_hostname: bool = prop(
        "cassandra.ssl.check.hostname",
        default=True,
        doc="Whether the node's certificate must name the host that is connected to.",
    )
    cassandra_driver_config_file: Path | None = prop(
        "cassandra.driver.config.file",
        default=None,
        doc="The configuration file of DataStax' Java driver, as Debezium's connector has it: "
        "`basic.contact-points`, `advanced.auth-provider` and `advanced.ssl-engine-factory` are "
        "read. Properties here that are set go before it.",
    )
    schema_file: Path | None = prop(
        "schema.file",
        default=None,
        doc="A file with the output of `DESCRIBE SCHEMA WITH INTERNALS`, read instead of asking "
        "the node; read again when it changes.",
    )
    schema_refresh_interval_ms: Milliseconds = prop(
        "schema.refresh.interval.ms",
        default=10_000,
        gt=0,
        doc="How often the schema is read again. A table or column that is not known is looked "
        "for at once.",
    )
    node_id: str | None = prop(
        "node.id",
        aliases=["cassandra.node.id"],
        default=None,
        min_length=1,
        doc="Who says it, in the `cdc.source` header. Not set: the node's host id, or with "
        "`schema.file` the name of this machine.",
    )
    cluster_name: str | None = prop(
        "cluster.name",
        aliases=["cassandra.cluster.name"],
        default=None,
        min_length=1,
        doc="`source.cluster` of events. Not set: the name in `cassandra.config`, else the node's "
        "answer, or with `schema.file` `Test Cluster`, which is Cassandra's default.",
    )


class SegmentProperties(Properties):
    """Segments on their way, and where they end."""

    relocation_directory: Path = prop(
        "commit.log.relocation.dir",
        doc="Holds `archive`, `upload` (what waits for the remote store) and `error`, the "
        "quarantine. Best on the file system of `cdc_raw`, where a move is a rename.",
    )
    transfer: Annotated[TransferName, BeforeValidator(_transfer_name)] = prop(
        "commit.log.transfer.class",
        default="delete",
        doc="What becomes of a segment whose events are all acknowledged: `delete`, `archive` "
        "(kept in `commit.log.relocation.dir`) or `gcs` (sent to Google Cloud Storage, as "
        "quarantined ones are). "
        "`BlackHole`, `Local` and `GCS` mean these, and so do the names of Debezium's classes, "
        "`io.debezium.connector.cassandra.BlackHoleCommitLogTransfer` and "
        "`…GCSCommitLogTransfer`.",
    )
    remote_directory: Annotated[RemoteDirectory | None, BeforeValidator(_remote_directory)] = prop(
        "remote.commit.log.relocation.dir",
        default=None,
        doc="With `gcs`: `gs://bucket/prefix` (or `gcs://…`). Objects in it are named "
        "`<node id>/archive/<file>`, those of quarantined segments `<node id>/error/<file>`.",
    )
    credential_key_file: Path | None = prop(
        "storage.credential.key.file",
        default=None,
        doc="With `gcs`: the JSON key of a service account. Not set: Application Default "
        "Credentials. With the environment variable `STORAGE_EMULATOR_HOST` and no key nobody is "
        "asked.",
    )
    transfer_backlog_max_bytes: ByteSize = prop(
        "commit.log.transfer.backlog.max.bytes",
        default=1024 * _MIB,
        ge=1,
        doc="With `gcs`: how much may wait in `commit.log.relocation.dir` under `upload`; a "
        "segment that does not fit stays in `cdc_raw`.",
    )
    transfer_chunk_bytes: ByteSize = prop(
        "commit.log.transfer.chunk.bytes",
        default=4 * _MIB,
        ge=256 << 10,
        doc="With `gcs`: bytes of one request, which is what a lost connection costs and what the "
        "upload needs of memory; whole units of 256 KiB.",
    )
    transfer_timeout_ms: Milliseconds = prop(
        "commit.log.transfer.timeout.ms",
        default=60_000,
        gt=0,
        doc="With `gcs`: how long an answer may take, and how long one request is repeated, before "
        "the segment is begun again after a pause.",
    )
    transfer_retry_longest_ms: Milliseconds = prop(
        "commit.log.transfer.retry.max.ms",
        default=60_000,
        gt=0,
        doc="With `gcs`: the longest of those pauses; the first is one second, and each is twice "
        "the one before.",
    )
    error_reprocessing_enabled: bool = prop(
        "commit.log.error.reprocessing.enabled",
        default=False,
        doc="Whether all quarantined segments are read again at every start, from their "
        "beginning; their events come again. With `gcs` those in the store are fetched, one after "
        "the other. `agent quarantine retry` does it for some, once.",
    )
    post_processing_enabled: bool = prop(
        "commit.log.post.processing.enabled",
        default=True,
        doc="`false` keeps finished segments: they are archived whatever "
        "`commit.log.transfer.class` says.",
    )
    poll_interval_ms: Milliseconds = prop(
        "cdc.dir.poll.interval.ms",
        default=10_000,
        gt=0,
        doc="How often `cdc_raw` is looked at when nothing wakes the agent; changes wake it at "
        "once where inotify works.",
    )
    keystore_path: Path | None = prop(
        "commit.log.keystore.path",
        default=None,
        doc="The node's keystore, for encrypted segments. Not set: what "
        "`transparent_data_encryption_options` in `cassandra.config` says. It is read when a "
        "segment needs it, and again when the file is replaced.",
    )
    keystore_password: SecretStr | None = prop(
        "commit.log.keystore.password",
        default=None,
        secret=True,
        doc="Its password; `${file:/path}` and `${env:NAME}` keep it out of this file.",
    )
    keystore_key_password: SecretStr | None = prop(
        "commit.log.keystore.key.password",
        default=None,
        secret=True,
        doc="Password of the keys in it, where it is another one.",
    )
    keystore_type: Annotated[Literal["JCEKS", "PKCS12", "JKS"] | None, UpperCase] = prop(
        "commit.log.keystore.type",
        default=None,
        doc="What it is. Not set: what the file itself says.",
    )
    blocked_timeout_ms: Milliseconds = prop(
        "segment.blocked.timeout.ms",
        deprecated=["segment.hold.max.ms"],
        default=600_000,
        doc="Time for which a record of an unknown table or column waits for the schema, or an "
        "encrypted segment for its key. After it the agent quarantines the segment.",
    )
    quarantine_max_bytes: ByteSize = prop(
        "quarantine.max.bytes",
        default=1024 * _MIB,
        doc="How large the quarantine may grow; a segment that does not fit stays in `cdc_raw`.",
    )
