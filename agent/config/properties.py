"""Properties of events and of the node.

Properties shared with Debezium use its names; `agent.config.debezium` contains the rest.
"""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, SecretStr

from agent.config.lists import validated_expressions
from sidecar.properties.addresses import bare_host
from sidecar.properties.model import Properties, prop
from sidecar.properties.types import (
    ByteSize,
    CommaList,
    LowerCase,
    Milliseconds,
    TopicName,
    TopicPrefix,
    words,
)

_MIB = 1 << 20


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
"""Maps the letters of Debezium and of this agent to the letters of events."""
SkippedOperations = Annotated[
    CommaList,
    words(
        (*_OPERATIONS, "t", "none"),
        "`none`, or a list of `c` or `i` (inserts), `u` (updates), `d` (deletions of rows and "
        "partitions), `r` (deletions of ranges) and `t` (truncations)",
    ),
]

TableList = Annotated[CommaList, AfterValidator(validated_expressions)]


class EventProperties(Properties):
    topic_prefix: TopicPrefix = prop(
        "topic.prefix",
        aliases=["kafka.topic.prefix"],
        doc="Prefix of every topic name, `<topic.prefix>.<keyspace>.<table>`: letters, "
        "digits, `.`, `_` and `-`. In keyspace and table names, `_` replaces characters that Kafka "
        "does not allow. The prefix is stored with the offsets; the agent does not start with "
        "a different prefix.",
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
        "for exact merges. Without `cells`, values match Debezium's.",
    )
    tombstones_on_delete: bool = prop(
        "tombstones.on.delete",
        default=False,
        doc="Whether a message without a value, with the event's key and id, follows each deletion "
        "of a row or partition. Do not compact the topic: events do not contain whole rows.",
    )
    event_op_style: Annotated[Literal["native", "envelope"], LowerCase] = prop(
        "event.op.style",
        default="native",
        doc="Letters of `op`. `native`, as in Debezium's connector: `i` (insert), `u` (update), "
        "`d` (delete), `r` (range deletion). `envelope`: `c`, `u`, `d`, `t`.",
    )
    event_layout: Annotated[Literal["debezium-3", "debezium-1.x"], LowerCase] = prop(
        "event.layout",
        default="debezium-3",
        doc="Layout of values, by Debezium release line. With `debezium-1.x`, `source` contains "
        "`ts_micro` and a boolean `snapshot`; only events of ranges contain `_range_start` and "
        "`_range_end`. With `event.cells=false`, such values match those releases.",
    )
    event_source_epoch: bool = prop(
        "event.source.epoch",
        default=False,
        doc="Whether `source` contains `epoch`, the epoch of the table definition that the write "
        "used. Only Cassandra 6.0 and later log it; otherwise it is null.",
    )
    skipped_operations: SkippedOperations = prop(
        "skipped.operations",
        default=("none",),
        doc="Changes that are not published: `c` or `i` inserts, `u` updates, `d` deletions of "
        "rows and partitions, `r` deletions of ranges. `t` (truncations, which the log does not "
        "contain) and `none` skip nothing. The letters do not depend on `event.op.style`. The "
        "agent counts skipped events; snapshot rows are never skipped.",
    )
    counter_events: Annotated[Literal["skip", "shards"], LowerCase] = prop(
        "counter.events",
        default="skip",
        doc="Events of counter tables. `skip`: none; the agent counts the skipped updates. "
        "`shards`: the current count of each shard, which is not the counter's value, and its "
        "increment if known.",
    )
    counter_history_max_bytes: ByteSize = prop(
        "counter.history.max.bytes",
        default=16 * _MIB,
        doc="With `counter.events=shards`: memory for the latest shards, from which the agent "
        "computes increments. `0`: no increments.",
    )
    table_include_list: TableList = prop(
        "table.include.list",
        default=(),
        doc="Regular expressions that match whole `keyspace.table` names; only these tables are "
        "published. Write each backslash twice, as in any properties file. Defaults to all tables "
        "with `cdc = true`.",
    )
    table_exclude_list: TableList = prop(
        "table.exclude.list",
        default=(),
        doc="Regular expressions that match whole `keyspace.table` names; these tables are not "
        "published.",
    )
    include_schema_changes: bool = prop(
        "include.schema.changes",
        default=False,
        doc="Whether the agent sends a message for each change of a published table's definition. "
        "At the first start, the agent sends one for each published table "
        "(docs/reference/schema-changes.md).",
    )
    schema_changes_topic: TopicName = prop(
        "schema.changes.topic",
        default=None,
        doc="Topic for the messages of `include.schema.changes`. Defaults to the value of "
        "`topic.prefix`, as in Debezium. Create it with one partition.",
    )
    tracing_enabled: bool = prop(
        "tracing.enabled",
        default=False,
        doc="Whether the agent creates OpenTelemetry spans for each segment and batch, and a "
        "`traceparent` header on every event. Requires the extra `tracing`. OpenTelemetry's "
        "environment variables, such as `OTEL_EXPORTER_OTLP_ENDPOINT`, set the destination.",
    )

    @property
    def schema_topic(self) -> str | None:
        """The topic for schema changes, or None if they are not sent."""
        if not self.include_schema_changes:
            return None
        return self.schema_changes_topic or self.topic_prefix

    @property
    def skipped_letters(self) -> frozenset[Literal["i", "u", "d", "r"]]:
        """Letters of events that the agent does not publish."""
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
        doc="The node's `cdc_raw`. Defaults to `cdc_raw_directory` in `cassandra.config`.",
    )
    cassandra_hosts: Annotated[CommaList, AfterValidator(_hosts)] = prop(
        "cassandra.hosts",
        default=(),
        is_per_node=True,
        doc="CQL address of the node. Defaults to the address in `cassandra.config`, else to "
        "`localhost`. Of several addresses, exactly one must belong to this machine.",
    )
    cassandra_port: int | None = prop(
        "cassandra.port",
        default=None,
        ge=1,
        le=65535,
        doc="CQL port of the node. Defaults to the port in `cassandra.config`, else to 9042.",
    )
    cassandra_username: str | None = prop(
        "cassandra.username", default=None, min_length=1, doc="CQL user."
    )
    cassandra_password: SecretStr | None = prop(
        "cassandra.password",
        default=None,
        secret=True,
        min_length=1,
        doc="Password of the CQL user. `${file:/path}` and `${env:NAME}` keep it out of this file.",
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
        doc="PEM file with CA certificates that verify the node's certificate. Defaults to "
        "`cassandra.ssl.config.path`, else to the system's CAs.",
    )
    cassandra_ssl_certificate_path: Path | None = prop(
        "cassandra.ssl.certificate.path", default=None, doc="PEM file with the client certificate."
    )
    cassandra_ssl_key_path: Path | None = prop(
        "cassandra.ssl.key.path",
        default=None,
        doc="PEM file with the key of the client certificate, if it is in a separate file.",
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
        doc="Configuration file of the DataStax Java driver, as used by Debezium's connector. The "
        "agent reads `basic.contact-points`, `advanced.auth-provider` and "
        "`advanced.ssl-engine-factory`. The agent's properties override it.",
    )
    schema_file: Path | None = prop(
        "schema.file",
        default=None,
        doc="A file with the output of `DESCRIBE SCHEMA WITH INTERNALS`, to use instead of the "
        "node's schema. The agent reads it again when it changes.",
    )
    schema_refresh_interval_ms: Milliseconds = prop(
        "schema.refresh.interval.ms",
        default=10_000,
        gt=0,
        doc="Interval between reads of the schema. An unknown table or column triggers a read "
        "immediately.",
    )
    node_id: str | None = prop(
        "node.id",
        aliases=["cassandra.node.id"],
        default=None,
        is_per_node=True,
        min_length=1,
        doc="Node id in the `cdc.source` header. Defaults to the node's host id, or with "
        "`schema.file` to this machine's host name. After an upgrade to 6.0, the agent keeps the "
        "host id that is stored with its offsets.",
    )
    cluster_name: str | None = prop(
        "cluster.name",
        aliases=["cassandra.cluster.name"],
        default=None,
        min_length=1,
        doc="`source.cluster` in events. Defaults to the name in `cassandra.config`, else to the "
        "name that the node reports. With `schema.file` but no `cassandra.config`: `Test Cluster`, "
        "Cassandra's default.",
    )
