"""Properties of segments, transactions, snapshots of existing rows, and watermarks."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, SecretStr

from sidecar.properties.model import Properties, prop
from sidecar.properties.types import (
    ByteSize,
    LowerCase,
    Milliseconds,
    TopicName,
    Unit,
    UpperCase,
)
from sidecar.store.base import RemoteDirectory
from sidecar.store.registry import STORES, parse_remote_directory

_MIB = 1 << 20
_DEBEZIUM = "io.debezium.connector.cassandra"

_LOCAL_TRANSFERS = ("delete", "archive")
_OWN_CLASS = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def _transfer_name(value: Any) -> Any:
    """Normalizes a name. Ignores the package and the suffix of Debezium's class names."""
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


TransferName = Annotated[
    str,
    BeforeValidator(_transfer_name),
    Unit(f"{', '.join(f'`{name}`' for name in (*_LOCAL_TRANSFERS, *STORES))} or `module:Class`"),
]


class AccordProperties(Properties):
    accord_journal_enabled: bool = prop(
        "accord.journal.enabled",
        default=False,
        doc="Experimental, for Cassandra 6.0: whether the agent captures transactions from the "
        "node's Accord journal. The commit log does not contain them. Requires a connection to "
        "the node, so not with `schema.file`. See docs/explanation/accord.md.",
    )
    accord_journal_directory: Path | None = prop(
        "accord.journal.directory",
        default=None,
        doc="The node's Accord journal. Defaults to `accord.journal_directory` in "
        "`cassandra.config`, else to `accord_journal` next to `cdc_raw`.",
    )


class SegmentProperties(Properties):
    """Segments, and the handling of finished segments."""

    relocation_directory: Path = prop(
        "commit.log.relocation.dir",
        doc="Directory for `archive`, `upload` (segments for the remote store) and `error` (the "
        "quarantine). Put it on the file system of `cdc_raw`, to avoid copies.",
    )
    transfer: TransferName = prop(
        "commit.log.transfer.class",
        default="delete",
        doc="Action after all events of a segment are acknowledged. `delete`; `archive`: move to "
        "`commit.log.relocation.dir`; `gcs`, `s3`: upload to Google Cloud Storage or S3, like "
        "quarantined segments; `module:Class`: call a custom Python class "
        "(docs/how-to/transfer-class.md). Synonyms: `BlackHole`, `Local`, `GCS`, and Debezium's "
        "class names `io.debezium.connector.cassandra.BlackHoleCommitLogTransfer` and "
        "`…GCSCommitLogTransfer`.",
    )
    remote_directory: Annotated[RemoteDirectory | None, BeforeValidator(_remote_directory)] = prop(
        "remote.commit.log.relocation.dir",
        default=None,
        doc="Remote directory: `gs://bucket/prefix` (or `gcs://…`) or `s3://bucket/prefix`. "
        "Object names are `<node id>/archive/<file>`, and `<node id>/error/<file>` for "
        "quarantined segments.",
    )
    transfer_backlog_max_bytes: ByteSize = prop(
        "commit.log.transfer.backlog.max.bytes",
        default=1024 * _MIB,
        ge=1,
        doc="With a remote store or custom class: size limit of `upload` in "
        "`commit.log.relocation.dir`. Segments that do not fit stay in `cdc_raw`.",
    )
    transfer_chunk_bytes: ByteSize = prop(
        "commit.log.transfer.chunk.bytes",
        default=4 * _MIB,
        ge=256 << 10,
        doc="With a remote store: size of one request (`gcs`: units of 256 KiB; `s3`: at least 5 "
        "MiB). An upload needs this much memory, and a lost connection repeats this much.",
    )
    transfer_timeout_ms: Milliseconds = prop(
        "commit.log.transfer.timeout.ms",
        default=60_000,
        gt=0,
        doc="With a remote store: response timeout, and total time for retries of one "
        "request (`s3`: four attempts). Then the agent pauses and sends the segment again. "
        "With a custom class: time after which `/health` reports that it has not returned.",
    )
    transfer_retry_longest_ms: Milliseconds = prop(
        "commit.log.transfer.retry.max.ms",
        default=60_000,
        gt=0,
        doc="With a remote store or custom class: longest pause between attempts to send a "
        "segment. Pauses start at one second and double.",
    )
    error_reprocessing_enabled: bool = prop(
        "commit.log.error.reprocessing.enabled",
        default=False,
        doc="Whether the agent reads all quarantined segments again at every start, from the "
        "beginning, and sends their events again. The agent fetches segments in a remote store one "
        "at a time. `agent quarantine retry` retries selected segments once.",
    )
    post_processing_enabled: bool = prop(
        "commit.log.post.processing.enabled",
        default=True,
        doc="`false` archives finished segments and ignores `commit.log.transfer.class`.",
    )
    poll_interval_ms: Milliseconds = prop(
        "cdc.dir.poll.interval.ms",
        default=10_000,
        gt=0,
        doc="Interval between scans of `cdc_raw`. With inotify, changes trigger immediate scans.",
    )
    keystore_path: Path | None = prop(
        "commit.log.keystore.path",
        default=None,
        doc="The node's keystore, for encrypted segments. Defaults to the keystore in "
        "`transparent_data_encryption_options` of `cassandra.config`. The agent reads it when a "
        "segment needs it, and again when the file changes.",
    )
    keystore_password: SecretStr | None = prop(
        "commit.log.keystore.password",
        default=None,
        secret=True,
        doc="Password of the keystore. `${file:/path}` and `${env:NAME}` keep it out of this file.",
    )
    keystore_key_password: SecretStr | None = prop(
        "commit.log.keystore.key.password",
        default=None,
        secret=True,
        doc="Password of the keys in the keystore. Defaults to `commit.log.keystore.password`, "
        "else to the password in `cassandra.config`.",
    )
    keystore_type: Annotated[Literal["JCEKS", "PKCS12", "JKS"] | None, UpperCase] = prop(
        "commit.log.keystore.type",
        default=None,
        doc="Type of the keystore. Defaults to `cassandra.config`, else to the detected type.",
    )
    blocked_timeout_ms: Milliseconds = prop(
        "segment.blocked.timeout.ms",
        default=600_000,
        doc="How long a record with an unknown table or column waits for the schema, or an "
        "encrypted segment for its key. Then the agent quarantines the segment.",
    )
    quarantine_max_bytes: ByteSize = prop(
        "quarantine.max.bytes",
        default=1024 * _MIB,
        doc="Size limit of the quarantine. Segments that do not fit stay in `cdc_raw`.",
    )


Consistency = Literal[
    "ONE",
    "TWO",
    "THREE",
    "QUORUM",
    "ALL",
    "LOCAL_QUORUM",
    "EACH_QUORUM",
    "LOCAL_ONE",
    "NODE_LOCAL",
]


class SnapshotProperties(Properties):
    snapshot_mode: Annotated[Literal["initial", "always", "never"], LowerCase] = prop(
        "snapshot.mode",
        default="initial",
        doc="Which tables with `cdc = true` the agent copies once. `initial`: tables that "
        "exist when the agent starts. `always`: also tables that are published later. `never`: "
        "none; only `agent snapshot start` copies a table. See docs/how-to/snapshots.md.",
    )
    snapshot_consistency: Annotated[Consistency, UpperCase] = prop(
        "snapshot.consistency",
        default="ALL",
        doc="Consistency level of snapshot reads. `ALL` misses no write on any replica, and "
        "waits while a replica is unavailable. Lower levels can miss writes; these arrive only "
        "from the logs of replicas that have them, if agents run there. `NODE_LOCAL` reads only "
        "this node's data; the node needs `-Dcassandra.enable_nodelocal_queries=true`. See "
        "docs/how-to/snapshots.md.",
    )
    snapshot_scan_interval_ms: Milliseconds = prop(
        "snapshot.scan.interval.ms",
        default=10_000,
        gt=0,
        doc="Interval between reads of the node's list of tables, to find newly published or "
        "unpublished tables. A schema change triggers a read immediately.",
    )
    snapshot_rows_per_second: int = prop(
        "snapshot.rows.per.second",
        default=0,
        ge=0,
        doc="Maximum number of rows per second. `0`: no limit.",
    )
    snapshot_ranges: Annotated[Literal["primary", "replica", "all"], LowerCase] = prop(
        "snapshot.ranges",
        default="primary",
        doc="`primary`: the token ranges whose first replica is this node, so that the agents of "
        "all nodes together copy the data once. `replica`: all token ranges on this node, which "
        "`snapshot.consistency=NODE_LOCAL` needs to be complete. `all`: the whole ring, if only "
        "this agent copies.",
    )


class WatermarkProperties(Properties):
    watermark_topic: TopicName = prop(
        "watermark.topic",
        default=None,
        doc="Topic for watermarks: the time up to which Kafka contains every write that this node "
        "logged, and the obstacles (docs/reference/watermarks.md). All agents of a cluster share "
        "it; create it with `cleanup.policy=compact`. By default none. Not with `schema.file`.",
    )
    watermark_interval_ms: Milliseconds = prop(
        "watermark.interval.ms",
        default=10_000,
        gt=0,
        doc="Interval between watermarks.",
    )
    watermark_sync_lag_ms: Milliseconds | None = prop(
        "watermark.sync.lag.ms",
        default=None,
        doc="Time within which the node certainly syncs a logged write. Defaults to 1.5 times the "
        "node's `commitlog_sync_period`, at least one second. With `commitlog_sync: batch` or "
        "`group`, the default is 0, because the node acknowledges a write after the sync.",
    )
