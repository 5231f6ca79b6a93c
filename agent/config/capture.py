"""Properties of segments, transactions, snapshots of existing rows, and watermarks."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, SecretStr

from sidecar.config.store import StoreProperties
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


TransferName = Annotated[
    str,
    BeforeValidator(_transfer_name),
    Unit(f"{', '.join(f'`{name}`' for name in (*_LOCAL_TRANSFERS, *STORES))} or `module:Class`"),
]
"""A local transfer, a kind of store, or a Python class."""


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


class TransferProperties(StoreProperties, SegmentProperties):
    """Segments, and the stores that they are sent to."""


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
        doc="Which tables with `cdc = true` the agent copies, each once. `initial`: those that "
        "exist when the agent starts. `always`: also those that are published later. `never`: "
        "none; only `agent snapshot start` copies a table. See docs/how-to/snapshots.md.",
    )
    snapshot_consistency: Annotated[Consistency, UpperCase] = prop(
        "snapshot.consistency",
        default="ALL",
        doc="Consistency level of snapshot reads. `ALL` misses nothing that any replica has, and "
        "waits while a replica is unavailable. With a lower level, a write that the read missed "
        "arrives with the log of its replicas, if an agent runs there. `NODE_LOCAL`: only what "
        "this node has; the node needs `-Dcassandra.enable_nodelocal_queries=true`. See "
        "docs/how-to/snapshots.md.",
    )
    snapshot_scan_interval_ms: Milliseconds = prop(
        "snapshot.scan.interval.ms",
        default=10_000,
        gt=0,
        doc="Interval between two reads of the node's tables, to find newly published and "
        "unpublished ones. A change of schema triggers a read at once.",
    )
    snapshot_rows_per_second: int = prop(
        "snapshot.rows.per.second",
        default=0,
        ge=0,
        doc="Limit of rows per second. `0`: no limit.",
    )
    snapshot_ranges: Annotated[Literal["primary", "replica", "all"], LowerCase] = prop(
        "snapshot.ranges",
        default="primary",
        doc="`primary`: the token ranges whose first replica is this node, so that the agents of "
        "all nodes together copy the data once. `replica`: those of which this node is any "
        "replica, which `snapshot.consistency=NODE_LOCAL` needs to be complete. `all`: the whole "
        "ring, for a cluster where only this agent copies.",
    )


class WatermarkProperties(Properties):
    watermark_topic: TopicName = prop(
        "watermark.topic",
        default=None,
        doc="Topic for watermarks: up to which time Kafka has every write that this node logged, "
        "and what prevents it (docs/reference/watermarks.md). All agents of a cluster share it; "
        "give it `cleanup.policy=compact`. Not set: no watermarks. Not with `schema.file`.",
    )
    watermark_interval_ms: Milliseconds = prop(
        "watermark.interval.ms",
        default=10_000,
        gt=0,
        doc="Interval between two watermarks.",
    )
    watermark_sync_lag_ms: Milliseconds | None = prop(
        "watermark.sync.lag.ms",
        default=None,
        doc="Time after which the node has surely synced a logged write. Not set: 1.5 times the "
        "node's `commitlog_sync_period`, at least one second; 0 with `commitlog_sync: batch` or "
        "`group`, where the node acknowledges a write after the sync.",
    )
