"""The surface of the extension module. Positions are logical (format notes §2.3)."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, final

from commitlog._commitlog_accord import AccordRead, AccordReader, ColumnIds
from commitlog._commitlog_schema import (
    AnnouncedSchema,
    MetadataLogEntry,
    Schema,
    SchemaChanges,
    Table,
)
from sidecar.encoding import SchemaIds, Unregistered, _Delivered, _Headers, _Partitions

__all__ = [
    "AccordRead",
    "AccordReader",
    "AnnouncedSchema",
    "Blocked",
    "ColumnIds",
    "CounterHistory",
    "Descriptor",
    "EventBatch",
    "EventFormat",
    "Gap",
    "LostRecords",
    "MetadataLogEntry",
    "Scan",
    "Schema",
    "SchemaChanges",
    "SegmentReader",
    "SnapshotEncoder",
    "Table",
    "Verification",
    "read_descriptor",
]

_ProduceArguments = tuple[str, bytes, bytes, int, _Delivered, None, int, _Headers]

@final
class EventFormat:
    """The encoding of events and the selection of tables. Immutable."""

    def __new__(
        cls,
        *,
        topic_prefix: str,
        cluster: str,
        node_id: str,
        topic_delimiter: str = ".",
        connector_version: str = ...,
        cells: bool = True,
        op_style: Literal["native", "envelope"] = "native",
        partition_by: Literal["partition_key", "key"] = "partition_key",
        counter_events: Literal["skip", "shards"] = "skip",
        include: Sequence[str] = ...,
        exclude: Sequence[str] = ...,
        all_tables: bool = False,
        exclude_columns: Sequence[tuple[str, str, str]] = ...,
        names: Literal["none", "avro", "avro_unicode"] = "none",
        decimal: Literal["double", "precise", "string"] = "double",
        varint: Literal["long", "precise", "string"] = "long",
        duration: Literal["nanos", "precise", "string"] = "nanos",
        key: Literal["json", "json_with_schema", "avro", "protobuf", "string"] = "json",
        value: Literal["json", "json_with_schema", "avro", "protobuf", "string"] = "json",
        key_decimals: Literal["base64", "numeric"] = "base64",
        value_decimals: Literal["base64", "numeric"] = "base64",
        schema_ids: SchemaIds | None = None,
        tombstones: bool = False,
        skipped_operations: Sequence[Literal["i", "u", "d", "r"]] = ...,
        layout: Literal["debezium-3", "debezium-1.x"] = "debezium-3",
        source_epoch: bool = False,
    ) -> EventFormat:
        """Raise ValueError if a pattern is not a regular expression.

        - `include`, `exclude`: regular expressions that match all of `keyspace.table`.
        - `all_tables`: publish tables without `cdc = true` too (for `agent dump`).
        - `counter_events`: skip counter tables, or publish their shards.
        - `exclude_columns`: (keyspace, table, column) to leave out of `after` and `cells`; key
          columns cannot be excluded.
        - `names`: how names that Avro does not accept are adjusted.
        - `key`, `value`: the encoding. Avro needs the ids in `schema_ids`; a table without ids
          blocks. `json_with_schema` and `string` match Connect's `JsonConverter` and
          `StringConverter`.
        - `key_decimals`, `value_decimals`: how JSON shows exact varints.
        - `tombstones`: follow each deletion of a row or a partition by a message with the same
          key and id and without a value.
        - `skipped_operations`: letters of operations without events, those of `op_style="native"`;
          rows of snapshots are always events.
        - `layout`: members of `source` and `after`; `debezium-1.x` has those of Debezium 1.x.
        - `source_epoch`: `source` has the epoch of the table; not with `debezium-1.x`."""
    def admits(self, keyspace: str, table: str) -> bool:
        """Whether `include` and `exclude` select a table."""
    def suffixed_columns(self, schema: Schema) -> list[tuple[str, str]]:
        """The selected columns, as `keyspace.table.column`, whose names in events have a suffix
        because an older column has the name; each with that name."""
    def topic(self, keyspace: str, table: str) -> str:
        """The topic of a table. A name that is too long for Kafka is cut and ends with `-` and a
        hash of keyspace and table."""

@final
class CounterHistory:
    """The newest shards of recent counters, over segments and readers.

    Events compute the growth of a shard from it. Threads may share it; reads take turns."""

    def __new__(cls, max_bytes: int) -> CounterHistory:
        """Hold about `max_bytes`; the shard that was not read for longest is dropped first."""
    def __len__(self) -> int:
        """Number of shards."""

@final
class SnapshotEncoder:
    """Encodes the rows of a `SELECT` over one table as events (docs/reference/event-format.md).

    `element_times`: the server returns write times and TTLs of collection elements, as Cassandra
    does from 5.0 on. `started_us`: the start of the table's snapshot, in microseconds; it is the
    time of events without a write time."""

    def __new__(
        cls,
        schema: Schema,
        table_id: str,
        event_format: EventFormat,
        *,
        element_times: bool,
        started_us: int,
    ) -> SnapshotEncoder:
        """Raise SchemaError if the schema does not have the table."""
    @property
    def unregistered(self) -> list[Unregistered]:
        """Avro schemas without an id; `encode` needs the ids of all of them."""
    def cql(self, after: int, to: int) -> str:
        """The statement for tokens greater than `after`, up to and including `to`."""
    def encode(
        self,
        page: bytes,
        *,
        read_at_us: int,
        start: int,
        end: int | None = None,
        continues: bool = False,
    ) -> EventBatch:
        """Encode a page: the body of a ROWS result after its metadata.

        - `read_at_us`: the coordinator's clock at the request, or an earlier time.
        - `start`: the token up to which earlier pages were encoded.
        - `end`: the end of the token range, if this is the last page of the range.
        - `continues`: the page follows the previous page in one result.

        A position is a token plus 2**63. It is reached when everything up to and including the
        token is delivered. `mutations` counts rows. Raise MalformedValueError if the page does not
        fit the schema."""

@final
class Descriptor:
    """The header of a segment."""

    segment: Final[str]
    version: Final[int]
    segment_id: Final[int]
    compression: Final[str | None]
    encrypted: Final[bool]
    cipher: Final[str | None]
    """A Java cipher transformation, such as `AES/CBC/PKCS5Padding`."""
    key_alias: Final[str | None]
    """The key of the node's keystore that an encrypted segment needs."""

@final
class Gap:
    """A range of a segment without events, and why."""

    segment: Final[str]
    start: Final[int]
    end: Final[int | None]
    """None: the end of the segment."""
    cause: Final[str]

@final
class Blocked:
    """The record that blocks a read, and what it needs."""

    position: Final[int]
    """End position of the record."""
    table_id: Final[str]
    column: Final[str | None]
    reason: Final[str]
    """One sentence."""
    unregistered: Final[list[Unregistered]]
    """Avro schemas without an id; if there are any, the table schema is complete."""
    is_unannounced: Final[bool]
    """The record waits for the message of its table in the schema-change topic."""

@final
class LostRecords:
    """Records of one table that the reader skipped, all for the same reason."""

    start: Final[int]
    """Start of the first record."""
    end: Final[int]
    """End of the last record. Other records are between only if there are too many ranges."""
    records: Final[int]
    table_id: Final[str]
    column: Final[str | None]
    reason: Final[str]
    """One sentence about the first record."""

@final
class EventBatch:
    """Encoded events, numbered 0 … len-1. Immutable; owns its memory."""

    def __len__(self) -> int: ...
    size_bytes: Final[int]
    """Bytes of all keys and values."""
    segment: Final[str]
    start_position: Final[int]
    end_position: Final[int]
    """Position at which the next read starts."""
    stop: Final[Literal["full", "end", "blocked", "schema"]]
    blocked: Final[Blocked | None]
    gaps: Final[list[Gap]]
    lost: Final[list[LostRecords]]
    """Records skipped by `abandoned`. Events of other tables in them are in the batch."""
    schema_changes: Final[SchemaChanges | None]
    """Schema changes in the last record, if the read stopped after it (`schema`)."""
    change_start: Final[int | None]
    """With `announced`: the position before that record, at which the events of the batch end."""
    mutations: Final[int]
    skipped: Final[dict[str, int]]
    """Partition updates without events, by reason: not_cdc, view, system, counter,
    filtered, unknown_table, schema_unreadable; events of skipped_operation."""
    counts: Final[dict[tuple[str, str], int]]
    """Events by (keyspace.table, op)."""
    last_write_ts_us: Final[int | None]
    """Latest write time in the last event, in microseconds; None for snapshot rows."""
    def position_after(self, events: int) -> int:
        """The position to commit after the first `events` events are delivered.

        It is the end of the last mutation that they complete, `end_position` for all events."""
    def messages(
        self, first: int, stop: int
    ) -> list[tuple[str, bytes, bytes | None, _Headers, int]]:
        """(topic, key, value, headers, partition hash) of events first … stop-1.

        The hash has 31 bits; the partition is hash % partitions."""
    def produce_arguments(
        self, first: int, stop: int, partitions: _Partitions, on_delivery: _Delivered
    ) -> list[_ProduceArguments]:
        """Events first … stop-1 as arguments of `confluent_kafka.Producer.produce`: topic, value,
        key, partition, callback, None, 0, headers.

        `partitions` is called once for each topic, and its exceptions propagate. The list ends
        before the first event whose topic has None."""
    def ndjson(self, first: int, stop: int) -> bytes:
        """One JSON object a line for each event: {"topic","key","value","headers"}."""
    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """All events for consumers of Arrow's C data interface (`pyarrow.record_batch`).

        The columns are `id` (binary), `ts_us` (int64), `kind` (string) and `value` (binary; null
        for a tombstone). Raise ValueError for 2 GiB of events."""

@final
class Scan:
    """Counts of a scan. `checksum` is the wrapping 64-bit sum of all write times, TTLs, path
    bytes and value bytes."""

    mutations: Final[int]
    updates: Final[int]
    rows: Final[int]
    markers: Final[int]
    cells: Final[int]
    payload_bytes: Final[int]
    checksum: Final[int]

@final
class Verification:
    """Progress of a segment check. Payloads are not decoded."""

    done: Final[bool]
    """Whether the check reached the end."""
    position: Final[int]
    sections: Final[int]
    records: Final[int]
    """Whole records with good checksums."""
    payload_bytes: Final[int]
    unwritten_bytes: Final[int]
    """Zeros inside sections: space allocated to records that were never written."""
    gaps: Final[list[Gap]]
    tail_bytes: Final[int]
    """Bytes after the last section, which are not part of the log; known when `done`."""
    tail_written_bytes: Final[int]
    """Tail bytes up to the last one that is not zero."""

@final
class SegmentReader:
    """Reads one segment forward. One thread at a time may use it."""

    def __new__(
        cls,
        path: str,
        *,
        name: str | None = None,
        position: int = 0,
        keys: Mapping[str, bytes] | None = None,
        follow_links: bool = True,
    ) -> SegmentReader:
        """Open a segment.

        - `name`: the segment's file name, if `path` has another one.
        - `position`: an `end_position` to resume at.
        - `keys`: keys of encrypted segments, by alias.

        Raise OSError (for a symbolic link without `follow_links`), CorruptSegmentError for an
        unreadable header, ForeignFileError for a file that is no segment or has another id,
        UnsupportedFeatureError for an unknown version, compressor or cipher,
        SegmentKeyError for a missing key. A wrong key is found when the segment is read."""
    @property
    def descriptor(self) -> Descriptor: ...
    @property
    def position(self) -> int: ...
    @property
    def fingerprint(self) -> int:
        """A checksum of header and first records: it does not change once the first section is
        synced, and differs in another file of the same name. Raise OSError."""

    def interrupt(self) -> None:
        """End a running call of another thread with OSError, and fail each later one."""

    def read(
        self,
        schema: Schema,
        event_format: EventFormat,
        *,
        limit: int | None = None,
        complete: bool = False,
        expected_end: int = 0,
        completed_at: int = 0,
        max_events: int = 5000,
        max_bytes: int = 1 << 20,
        abandoned: Sequence[tuple[str, str | None]] = ...,
        counters: CounterHistory | None = None,
        announced: AnnouncedSchema | None = None,
    ) -> EventBatch:
        """Read the next events.

        - `limit`: read only sections that end at or before this position.
        - `complete`: the file does not change any more, so an unreadable marker is damage.
        - `expected_end`: a position that an index of the node names; a log that ends earlier has
          a gap.
        - `completed_at`: the number beside COMPLETED in the index.
        - `abandoned`: (table id, column) that the schema lacks and the reader does not wait for.
        - `announced`: what the schema-change topic has. Every schema change in the log stops the
          read then, and so does a record that needs an unannounced table or column."""
    def dump(
        self,
        schema: Schema,
        *,
        limit: int | None = None,
        complete: bool = True,
        max_bytes: int = 1 << 20,
        stop_at_changes: bool = False,
    ) -> bytes:
        """Return the next lines of the dump; b"" at the end or at `schema_changes`."""
    @property
    def schema_changes(self) -> SchemaChanges | None:
        """Schema changes in the last record of the last `dump`; apply them before the next."""
    def scan(self, schema: Schema, *, limit: int | None = None, complete: bool = True) -> Scan:
        """Visit every cell up to the end, without output. Releases the GIL."""
    def tree(
        self,
        schema: Schema | None = None,
        *,
        limit: int | None = None,
        complete: bool = True,
        max_bytes: int = 1 << 20,
    ) -> bytes:
        """Return the next lines of the tree; b"" at the end. Releases the GIL."""
    def verify(
        self,
        *,
        limit: int | None = None,
        complete: bool = True,
        expected_end: int = 0,
        completed_at: int = 0,
        max_bytes: int = 64 << 20,
    ) -> Verification:
        """Check about `max_bytes` more. `expected_end` and `completed_at` are those of `read`."""
    @property
    def gaps(self) -> list[Gap]:
        """Gaps found so far."""
    @property
    def skipped(self) -> dict[str, int]:
        """Partition updates that `dump` skipped so far, by reason."""

def read_descriptor(path: str, *, name: str | None = None) -> Descriptor: ...
