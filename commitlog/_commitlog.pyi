"""Type stubs of the extension module. All positions are logical (format notes §2.3)."""

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
    """How events are encoded, and which tables are published. Immutable."""

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
        """Raise ValueError for an invalid regular expression or an unknown option value.

        - `include`, `exclude`: regular expressions that must match the whole `keyspace.table`.
        - `all_tables`: also publish tables without `cdc = true` (for `agent dump`).
        - `counter_events`: skip counter tables, or publish their shards.
        - `exclude_columns`: (keyspace, table, column) to omit from `after` and `cells`; key columns
          cannot be excluded.
        - `names`: how to adjust names that Avro rejects.
        - `key`, `value`: the encoding. Avro and Protobuf need the ids in `schema_ids`; a table
          without ids blocks the read. `json_with_schema` and `string` match Connect's
          `JsonConverter` and `StringConverter`.
        - `key_decimals`, `value_decimals`: how JSON represents varints with `varint="precise"`.
        - `tombstones`: after each deletion of a row or partition, add a message with the same key
          and id but no value.
        - `skipped_operations`: operations to skip, by their letters in `op_style="native"`;
          snapshot rows are never skipped.
        - `layout`: the members of `source` and `after`, as in Debezium 3 or Debezium 1.x.
        - `source_epoch`: add the table's epoch to `source`; no effect with `debezium-1.x`."""
    def admits(self, keyspace: str, table: str) -> bool:
        """Return whether `include` and `exclude` select a table."""
    def suffixed_columns(self, schema: Schema) -> list[tuple[str, str]]:
        """Return (`keyspace.table.column`, name in events) for each column of a selected table
        that gets a suffix in events because an older column already uses its name."""
    def topic(self, keyspace: str, table: str) -> str:
        """Return the topic of a table. A name that is too long for Kafka is truncated and ends with
        `-` and a hash of keyspace and table."""

@final
class CounterHistory:
    """The latest shards of recently updated counters, shared by segments and readers.

    Reads use it to compute the growth of a shard. Threads may share it; concurrent reads run
    one at a time."""

    def __new__(cls, max_bytes: int) -> CounterHistory:
        """Hold about `max_bytes`; the least recently updated shards are dropped first."""
    def __len__(self) -> int: ...

@final
class SnapshotEncoder:
    """Encodes the rows of a `SELECT` over one table as events (docs/reference/event-format.md).

    `element_times`: whether the server returns write times and TTLs of collection elements, as
    Cassandra does since 5.0. `started_us`: when the table's snapshot started, in microseconds; it
    is the event time of rows without a write time."""

    def __new__(
        cls,
        schema: Schema,
        table_id: str,
        event_format: EventFormat,
        *,
        element_times: bool,
        started_us: int,
    ) -> SnapshotEncoder:
        """Raise SchemaError if the schema does not contain the table."""
    @property
    def unregistered(self) -> list[Unregistered]:
        """Avro and Protobuf schemas without an id; `encode` fails until all have one."""
    def cql(self, after: int, to: int) -> str:
        """Return the statement for tokens greater than `after`, up to and including `to`."""
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

        - `read_at_us`: the coordinator's clock when the page was requested, or an earlier time.
        - `start`: the token up to which earlier pages were encoded.
        - `end`: the end of the token range if this is its last page, otherwise None.
        - `continues`: whether the page belongs to the same result as the previous page.

        A position is a token plus 2**63; it is reached once all rows up to and including that
        token are delivered. `mutations` counts rows. Raise MalformedValueError if the page does not
        fit the schema or a schema has no id."""

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
    """Alias of the keystore key that decrypts the segment."""

@final
class Gap:
    """A segment range that yielded no events, and the cause."""

    segment: Final[str]
    start: Final[int]
    end: Final[int | None]
    """None if the gap extends to the end of the segment."""
    cause: Final[str]

@final
class Blocked:
    """The record that blocks a read, and what it needs."""

    position: Final[int]
    """End position of the record."""
    table_id: Final[str]
    column: Final[str | None]
    reason: Final[str]
    """The cause, as one sentence."""
    unregistered: Final[list[Unregistered]]
    """Avro and Protobuf schemas without an id. If there are any, the table schema is complete."""
    is_unannounced: Final[bool]
    """Whether the record waits for its table's message in the schema-change topic."""

@final
class LostRecords:
    """Records of one table that the reader skipped, all for the same reason."""

    start: Final[int]
    """Start of the first record."""
    end: Final[int]
    """End of the last record. Other records lie in between only if there are too many ranges."""
    records: Final[int]
    table_id: Final[str]
    column: Final[str | None]
    reason: Final[str]
    """The cause for the first record, as one sentence."""

@final
class EventBatch:
    """Encoded events, numbered 0 … len-1. Immutable; owns its memory."""

    def __len__(self) -> int: ...
    size_bytes: Final[int]
    """Bytes of all keys and values."""
    segment: Final[str]
    start_position: Final[int]
    end_position: Final[int]
    """Where the next read starts."""
    stop: Final[Literal["full", "end", "blocked", "schema"]]
    blocked: Final[Blocked | None]
    gaps: Final[list[Gap]]
    lost: Final[list[LostRecords]]
    """Records skipped because of `abandoned`. The batch contains their events of other tables."""
    schema_changes: Final[SchemaChanges | None]
    """Schema changes in the final record, if they stopped the read (`schema`)."""
    change_start: Final[int | None]
    """With `announced`: where that record starts; all events of the batch precede it."""
    mutations: Final[int]
    skipped: Final[dict[str, int]]
    """Skipped partition updates by reason: not_cdc, view, system, counter, filtered, unknown_table,
    schema_unreadable, metadata_log_unreadable; skipped_operation counts events."""
    counts: Final[dict[tuple[str, str], int]]
    """Events by (keyspace.table, op), without tombstones."""
    last_write_ts_us: Final[int | None]
    """Latest write time in the final event, in microseconds; None if empty or a snapshot."""
    def position_after(self, events: int) -> int:
        """Return the position to commit once the first `events` events are delivered.

        It is the end of the last mutation that they complete. For all events, it is `change_start`
        or, if that is None, `end_position`."""
    def messages(
        self, first: int, stop: int
    ) -> list[tuple[str, bytes, bytes | None, _Headers, int]]:
        """Return (topic, key, value, headers, partition hash) of events first … stop-1.

        The hash has 31 bits; the partition is hash % partitions."""
    def produce_arguments(
        self, first: int, stop: int, partitions: _Partitions, on_delivery: _Delivered
    ) -> list[_ProduceArguments]:
        """Return arguments of `confluent_kafka.Producer.produce` for events first … stop-1: topic,
        value, key, partition, callback, None, 0, headers.

        `partitions` is called once for each topic, and its exceptions propagate. The list ends
        before the first event for whose topic it returns None."""
    def ndjson(self, first: int, stop: int) -> bytes:
        """Return one JSON line for each event: {"topic","key","value","headers"}."""
    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """Export all events through Arrow's C data interface (`pyarrow.record_batch`).

        The columns are `id` (binary), `ts_us` (int64), `kind` (string) and `value` (binary; null
        for a tombstone). Raise ValueError if the events take 2 GiB or more."""

@final
class Scan:
    """Result of a scan. `checksum` is the wrapping 64-bit sum of all write times, TTLs, path bytes
    and value bytes."""

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
    """Complete records with valid checksums."""
    payload_bytes: Final[int]
    unwritten_bytes: Final[int]
    """Zero bytes inside sections, allocated to records that were never written."""
    gaps: Final[list[Gap]]
    tail_bytes: Final[int]
    """Bytes after the last section, which are not part of the log; known once `done`."""
    tail_written_bytes: Final[int]
    """Tail bytes up to the last non-zero byte."""

@final
class SegmentReader:
    """Reads one segment forward. Except for `interrupt`, use it from one thread at a time."""

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

        - `name`: the segment's file name, if it differs from the name in `path`.
        - `position`: the `end_position` from which to resume.
        - `keys`: keys of encrypted segments, by alias.

        Raise OSError (also for a symbolic link with `follow_links=False`), CorruptSegmentError for
        an unreadable header, ForeignFileError for a file that is too large or whose header has a
        different id, UnsupportedFeatureError for an unknown version, compressor or cipher, and
        SegmentKeyError for a missing key. A wrong key is detected by the first read."""
    @property
    def descriptor(self) -> Descriptor: ...
    @property
    def position(self) -> int: ...
    @property
    def fingerprint(self) -> int:
        """A checksum of the header and the start of the first section. It is stable once that
        section is synced, and differs for other content of the same name. Raise OSError."""

    def interrupt(self) -> None:
        """Make a call running in another thread, and all later calls, raise OSError."""

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
        - `complete`: the file is final, so an unreadable marker is damage.
        - `expected_end`: a position from the node's index file; a log that ends earlier has a gap.
        - `completed_at`: the number beside COMPLETED in the index file.
        - `abandoned`: missing definitions (table id, column) that do not block the read.
        - `announced`: the definitions in the schema-change topic. If given, every schema change in
          the log stops the read, and a record with an unannounced table or column blocks it."""
    def dump(
        self,
        schema: Schema,
        *,
        limit: int | None = None,
        complete: bool = True,
        max_bytes: int = 1 << 20,
        stop_at_changes: bool = False,
    ) -> bytes:
        """Return the next lines of the dump, or b"" at the end."""
    @property
    def schema_changes(self) -> SchemaChanges | None:
        """Schema changes that stopped the latest `dump`; apply them before the next call."""
    def scan(self, schema: Schema, *, limit: int | None = None, complete: bool = True) -> Scan:
        """Decode every remaining cell without creating output. Releases the GIL."""
    def tree(
        self,
        schema: Schema | None = None,
        *,
        limit: int | None = None,
        complete: bool = True,
        max_bytes: int = 1 << 20,
    ) -> bytes:
        """Return the next lines of the tree, or b"" at the end. Releases the GIL."""
    def verify(
        self,
        *,
        limit: int | None = None,
        complete: bool = True,
        expected_end: int = 0,
        completed_at: int = 0,
        max_bytes: int = 64 << 20,
    ) -> Verification:
        """Check about `max_bytes` more. `expected_end` and `completed_at` work as in `read`."""
    @property
    def gaps(self) -> list[Gap]:
        """Gaps found so far."""
    @property
    def skipped(self) -> dict[str, int]:
        """Mutations that `dump` and `scan` have skipped so far, by reason."""

def read_descriptor(path: str, *, name: str | None = None) -> Descriptor: ...
