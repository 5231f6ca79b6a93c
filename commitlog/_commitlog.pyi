"""The whole surface of the extension module. Positions are logical (format notes §2.3)."""

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Literal, final

from commitlog._commitlog_avro import SchemaIds, Unregistered

__all__ = [
    "Blocked",
    "CounterHistory",
    "Descriptor",
    "EventBatch",
    "EventFormat",
    "Gap",
    "Lost",
    "RowBatch",
    "RowDecoder",
    "Scan",
    "Schema",
    "SchemaChanges",
    "SchemaIds",
    "SegmentReader",
    "SnapshotEncoder",
    "Table",
    "Unregistered",
    "Verification",
    "__version__",
    "_mongo",
    "read_descriptor",
]

__version__: str
_mongo: ModuleType
"""`mongo_agent.encoder`."""

_Headers = list[tuple[str, bytes]]
_Partitions = Callable[[str], int | None]
_Delivered = Callable[..., None]
_ProduceArguments = tuple[str, bytes, bytes, int, _Delivered, None, int, _Headers]

@final
class Table:
    """A table as far as Python needs it."""

    @property
    def id(self) -> str: ...
    @property
    def keyspace(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> Literal["table", "view"]: ...
    @property
    def cdc(self) -> bool: ...
    @property
    def counter(self) -> bool: ...

@final
class SchemaChanges:
    """Changes of schema that stand in the log, in its order. Immutable."""

    def __len__(self) -> int: ...
    @property
    def keyspaces(self) -> list[str]:
        """The keyspace of each."""

@final
class Schema:
    """All tables that are known, by id, with every version of their columns. Immutable.

    `seen_at_us` is when a text or rows were true, in microseconds; the later schema counts."""

    @staticmethod
    def from_cql(text: str, *, seen_at_us: int = 0) -> Schema:
        """What `DESCRIBE … WITH INTERNALS` prints. Raises SchemaError with the line."""
    @staticmethod
    def from_system_rows(rows: bytes, *, seen_at_us: int = 0) -> Schema:
        """JSON of the rows of `system_schema`. Raises SchemaError."""
    @staticmethod
    def from_stored(stored: bytes) -> Schema:
        """What `to_stored` gave. Raises SchemaError."""
    def to_stored(self) -> bytes:
        """Everything that is known, as JSON."""
    def merged(self, newer: Schema) -> Schema:
        """What both know. Of two that were seen at one time `newer` counts as the newer one."""
    def with_changes(self, changes: SchemaChanges) -> Schema:
        """This one after what stands in the log."""
    def bounded(self, alive: Schema, limit: int) -> Schema:
        """This one with at most `limit` tables that `alive` does not have."""
    def tables(self) -> list[Table]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __len__(self) -> int: ...

@final
class EventFormat:
    """How events look and which tables are published. Immutable."""

    def __new__(
        cls,
        *,
        topic_prefix: str,
        cluster: str,
        node_id: str,
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
        key: Literal["json", "json_with_schema", "avro", "string"] = "json",
        value: Literal["json", "json_with_schema", "avro", "string"] = "json",
        key_decimals: Literal["base64", "numeric"] = "base64",
        value_decimals: Literal["base64", "numeric"] = "base64",
        schema_ids: SchemaIds | None = None,
        tombstones: bool = False,
    ) -> EventFormat:
        """`include` and `exclude` are regular expressions over `keyspace.table`, matched whole.
        `all_tables` publishes tables without `cdc = true` too (for `agent dump`).
        `counter_events`: counter tables are skipped, or give events with their shards.
        `exclude_columns` are keyspace, table and column of what `after` and `cells` leave out;
        columns of a key never are. `names`: what becomes of names that Avro does not take. `key`
        and `value` in Avro begin with the ids that `schema_ids` has; a table without them blocks.
        `json_with_schema` and `string` are what Connect's `JsonConverter` and `StringConverter`
        write; with `…_decimals` exact varints are numbers in JSON. `tombstones`: a message with
        the same key and id and without a value follows each deletion of a row or a partition.
        Raises ValueError for a pattern that is none."""
    def admits(self, keyspace: str, table: str) -> bool:
        """Whether `include` and `exclude` let a table pass."""

@final
class CounterHistory:
    """The newest shards of the counters that were met last, over segments and readers, so that
    events can say by how much a shard grew. Any thread may use it, one at a time does."""

    def __new__(cls, max_bytes: int) -> CounterHistory:
        """Holds about `max_bytes`; what was not met for longest is forgotten first."""
    def __len__(self) -> int:
        """Shards that are remembered."""

@final
class SnapshotEncoder:
    """Makes events of the rows of a `SELECT` on one table (docs/reference/event-format.md).

    `element_times`: the server tells write times and TTLs of the elements of collections, as
    Cassandra does from 5.0 on. `started_us`: when the snapshot of the table began; the time of
    events that tell of none."""

    def __new__(
        cls,
        schema: Schema,
        table_id: str,
        event_format: EventFormat,
        *,
        element_times: bool,
        started_us: int,
    ) -> SnapshotEncoder:
        """Raises SchemaError when the schema does not have the table."""
    @property
    def unregistered(self) -> list[Unregistered]:
        """Schemas of Avro that have no id yet; without theirs nothing can be encoded."""
    def cql(self, after: int, to: int) -> str:
        """The statement for the tokens behind `after` up to and including `to`."""
    def encode(
        self,
        page: bytes,
        *,
        read_at_us: int,
        start: int,
        end: int | None = None,
        continues: bool = False,
    ) -> EventBatch:
        """The events of a page: the body of a ROWS result behind its metadata.

        `read_at_us`: the coordinator's clock when the page was asked for, or earlier. `start`: the
        token that was reached before; `end`: that of the range, when this is its last page;
        `continues`: it follows the page before it in one answer. A position is a token plus 2**63,
        reached when everything up to and including the token is done; `mutations` counts rows.
        Raises MalformedValueError when the answer does not fit the schema."""

@final
class Descriptor:
    """The header of a segment."""

    @property
    def segment(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def segment_id(self) -> int: ...
    @property
    def compression(self) -> str | None: ...
    @property
    def encrypted(self) -> bool: ...
    @property
    def cipher(self) -> str | None:
        """A transformation of Java, such as `AES/CBC/PKCS5Padding`."""
    @property
    def key_alias(self) -> str | None:
        """Which key of the node's keystore an encrypted segment needs."""

@final
class Gap:
    """A range of a segment that gave no events, and why."""

    @property
    def segment(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int | None:
        """None: to the end of the segment."""
    @property
    def cause(self) -> str: ...

@final
class Blocked:
    """The record that stopped a read, and what it needs."""

    @property
    def position(self) -> int:
        """End position of the record."""
    @property
    def table_id(self) -> str: ...
    @property
    def column(self) -> str | None: ...
    @property
    def reason(self) -> str:
        """One sentence."""
    @property
    def unregistered(self) -> list[Unregistered]:
        """Schemas that it waits for; then the schema of tables lacks nothing."""

@final
class Lost:
    """Records of one table that are passed over, all for want of the same."""

    @property
    def start(self) -> int:
        """Start of the first one."""
    @property
    def end(self) -> int:
        """End of the last one; others lie between only when there are too many ranges."""
    @property
    def records(self) -> int: ...
    @property
    def table_id(self) -> str: ...
    @property
    def column(self) -> str | None: ...
    @property
    def reason(self) -> str:
        """One sentence about the first one."""

@final
class EventBatch:
    """Events as bytes, numbered 0 … len-1. Immutable; owns its memory."""

    def __len__(self) -> int: ...
    @property
    def size_bytes(self) -> int:
        """Keys and values."""
    @property
    def segment(self) -> str: ...
    @property
    def start_position(self) -> int: ...
    @property
    def end_position(self) -> int:
        """Where the next read starts."""
    @property
    def stop(self) -> Literal["full", "end", "blocked", "schema"]: ...
    @property
    def blocked(self) -> Blocked | None: ...
    @property
    def gaps(self) -> list[Gap]: ...
    @property
    def lost(self) -> list[Lost]:
        """What `given_up` let pass; events of other tables in the same mutations are there."""
    @property
    def schema_changes(self) -> SchemaChanges | None:
        """What the last record changes, when the read stopped behind it (`schema`)."""
    @property
    def mutations(self) -> int: ...
    @property
    def skipped(self) -> dict[str, int]:
        """Partition updates that gave no events, by reason: not_cdc, view, system, counter,
        filtered, unknown_table, schema_unreadable."""
    @property
    def counts(self) -> dict[tuple[str, str], int]:
        """Events by (keyspace.table, op)."""
    @property
    def last_write_ts_us(self) -> int | None:
        """Largest write time in the last event; None for rows of a snapshot."""
    def position_after(self, events: int) -> int:
        """Position that is reached when the first `events` events are done: the end of the last
        mutation wholly among them; `end_position` for all of them."""
    def messages(
        self, first: int, stop: int
    ) -> list[tuple[str, bytes, bytes | None, _Headers, int]]:
        """(topic, key, value, headers, partition hash) of events first … stop-1; the hash has 31
        bits and the partition is hash % partitions."""
    def produce_arguments(
        self, first: int, stop: int, partitions: _Partitions, on_delivery: _Delivered
    ) -> list[_ProduceArguments]:
        """The same events as arguments of `confluent_kafka.Producer.produce`: topic, value, key,
        partition, callback, None, 0, headers. `partitions` is asked once for each topic; the list
        ends before the first event whose topic has None. What it raises comes out of here."""
    def ndjson(self, first: int, stop: int) -> bytes:
        """One line an event: {"topic","key","value","headers"}; key and value as JSON."""

@final
class Scan:
    """What a scan visited. `checksum` is the wrapping 64-bit sum of all write times, TTLs, path
    bytes and value bytes."""

    @property
    def mutations(self) -> int: ...
    @property
    def updates(self) -> int: ...
    @property
    def rows(self) -> int: ...
    @property
    def markers(self) -> int: ...
    @property
    def cells(self) -> int: ...
    @property
    def payload_bytes(self) -> int: ...
    @property
    def checksum(self) -> int: ...

@final
class Verification:
    """What a check of a segment has seen so far. Nothing of the payloads is decoded."""

    @property
    def done(self) -> bool:
        """Whether the end was reached."""
    @property
    def position(self) -> int: ...
    @property
    def sections(self) -> int: ...
    @property
    def records(self) -> int:
        """Whole records with good checksums."""
    @property
    def payload_bytes(self) -> int: ...
    @property
    def unwritten_bytes(self) -> int:
        """Zeros inside sections: room given to records that were never written."""
    @property
    def gaps(self) -> list[Gap]: ...
    @property
    def tail_bytes(self) -> int:
        """Bytes of the file behind the chain of sections, which are no part of the log; known when
        `done`."""
    @property
    def tail_written_bytes(self) -> int:
        """Of these, those up to the last one that is not zero."""

@final
class SegmentReader:
    """Reads one segment forward. Not for two threads at once."""

    def __new__(
        cls,
        path: str,
        *,
        name: str | None = None,
        position: int = 0,
        keys: Mapping[str, bytes] | None = None,
        follow_links: bool = True,
    ) -> SegmentReader:
        """`name` is the segment's file name when `path` has another; `position` an `end_position`;
        `keys` those of encrypted segments, by alias. Raises OSError (for a symbolic link without
        `follow_links`), CorruptSegmentError for an unreadable header, UnsupportedFeatureError for
        what is not known, SegmentKeyError for a missing or (on reading) wrong key."""
    @property
    def descriptor(self) -> Descriptor: ...
    @property
    def position(self) -> int: ...
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
        unknown_tables: Literal["block", "skip"] = "block",
        given_up: Sequence[tuple[str, str | None]] = ...,
        counters: CounterHistory | None = None,
    ) -> EventBatch:
        """Next events of sections up to `limit`; a log that misses `expected_end` (of an index) or
        `completed_at` (beside COMPLETED) has a gap. `given_up`: what is not waited for."""
    def skip(self) -> Gap:
        """Passes over the record that the last read was blocked by."""
    def dump(
        self,
        schema: Schema,
        *,
        limit: int | None = None,
        complete: bool = True,
        max_bytes: int = 1 << 20,
        stop_at_changes: bool = False,
    ) -> bytes:
        """Next lines of the dump; b"" at the end or at `schema_changes`."""
    @property
    def schema_changes(self) -> SchemaChanges | None:
        """What the last record of the last `dump` changes; go on with a schema that knows it."""
    def scan(self, schema: Schema, *, limit: int | None = None, complete: bool = True) -> Scan:
        """Visits every cell to the end and makes nothing. Releases the GIL."""
    def structure(
        self,
        schema: Schema | None = None,
        *,
        limit: int | None = None,
        complete: bool = True,
        max_bytes: int = 1 << 20,
    ) -> bytes:
        """Next lines of the structure; b"" at the end. Releases the GIL."""
    def verify(
        self,
        *,
        limit: int | None = None,
        complete: bool = True,
        expected_end: int = 0,
        completed_at: int = 0,
        max_bytes: int = 64 << 20,
    ) -> Verification:
        """Checks about `max_bytes` more; `expected_end`, `completed_at` as for `read`."""
    @property
    def gaps(self) -> list[Gap]:
        """Gaps met so far."""
    @property
    def skipped(self) -> dict[str, int]:
        """Partition updates without a line so far, by reason (`dump`)."""

@final
class RowBatch:
    """Typed rows, for whoever reads Arrow's C data interface (`pyarrow.record_batch`)."""

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...

@final
class RowDecoder:
    """Raw rows of one table as typed ones (docs/reference/types.md, section 6). Immutable."""

    def __new__(
        cls,
        schema: Schema,
        keyspace: str,
        table: str,
        *,
        table_id: str | None = None,
        show: Mapping[str, str] = ...,
        partition_key: str | None = None,
        clustering: str | None = None,
        carry: Sequence[str] = ...,
    ) -> RowDecoder:
        """`show`: by column `raw`, or `decimal(p,s)` for its decimals and varints. `partition_key`
        and `clustering` name columns with whole partition keys and lists of clustering values, in
        place of one for each key column. `carry` names columns that are handed on, first. Raises
        SchemaError without exactly one such table, ValueError for an impossible choice."""
    @property
    def table_schema(self) -> Schema:
        """The schema of this table alone."""
    def decode(self, batch: object) -> RowBatch:
        """A record batch whose columns have the table's names: binary for a column of one cell,
        `list<struct<path: binary, value: binary>>` for one that is stored cell by cell. A column
        that is missing is null. Raises ValueError for other columns, MalformedValueError for bytes
        that do not fit their type. Releases the GIL."""
    def __arrow_c_schema__(self) -> object:
        """The typed columns, in the order of `SELECT *`."""

def read_descriptor(path: str, *, name: str | None = None) -> Descriptor: ...
