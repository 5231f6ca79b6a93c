"""Encodes raw BSON of change streams as messages (docs/reference/mongodb-event-format.md)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, Literal, final

from sidecar.encoding import SchemaIds, Unregistered, _Delivered, _Headers, _Partitions

_SnapshotMarker = Literal[
    "true", "first", "first_in_data_collection", "last_in_data_collection", "last", "incremental"
]
_Message = tuple[str, bytes, bytes | None, _Headers, int]
_Arguments = tuple[str, bytes | None, bytes, int, _Delivered, None, int, _Headers]
_Encoding = Literal["json", "json_with_schema", "avro"]
_Bson = Sequence[bytes | memoryview]
__all__ = [
    "ChangeEvents",
    "EncodingFailure",
    "FragmentJoiner",
    "LinearPattern",
    "MongoBatch",
    "MongoEncoder",
    "MongoTransaction",
    "MongoTransform",
    "StreamReply",
    "id_document",
]

_OutboxConverter = Literal["encoding", "string", "bytes", "binary"]
"""How keys or payloads of an outbox are written; `encoding`: as in other messages."""
_ClusterTime = tuple[int, int]
"""Seconds and increment."""

@final
class EncodingFailure:
    """An event that could not be encoded: its bytes are not BSON, or a required member is missing.
    `event` is its index in the input, `cause` a sentence with the offset in its bytes.
    `is_malformed`: the bytes are not BSON."""

    event: Final[int]
    offset: Final[int]
    cause: Final[str]
    is_malformed: Final[bool]

@final
class ChangeEvents:
    """Raw events of a change stream in its order, with their tokens and times. Immutable; owns the
    replies that contain the events."""

    def __new__(cls, events: _Bson = ...) -> ChangeEvents: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> bytes: ...
    def __iter__(self) -> Iterator[bytes]: ...
    def token(self, index: int) -> bytes | None:
        """The resume token of an event (`_id`) as BSON; None for bytes without one."""
    def time(self, index: int) -> _ClusterTime | None:
        """The `clusterTime` of an event, else that of its token; None for bytes without either."""
    def after(self, token: str) -> ChangeEvents:
        """The events later in the stream than a token, which is given by its `_data`. Raises
        ValueError for tokens that do not begin with a cluster time."""

@final
class StreamReply:
    """A raw reply to `aggregate` or `getMore`. Raises ValueError for other bytes; the content of
    events is not checked."""

    def __new__(cls, reply: bytes | memoryview) -> StreamReply: ...
    events: Final[ChangeEvents]
    cursor_id: Final[int]
    """0 when the server closed the cursor."""
    namespace: Final[str]
    """`database.collection` for `getMore`."""
    token: Final[bytes | None]
    """The resume token after all events (`postBatchResumeToken`) as BSON."""
    operation_time: Final[_ClusterTime | None]
    """The cluster time at which the server answered."""

@final
class FragmentJoiner:
    """Joins the fragments of events that the server split (`$changeStreamSplitLargeEvent`), over
    the replies of one cursor. With `skips_split_events` it leaves such events out."""

    def __new__(cls, *, skips_split_events: bool = False) -> FragmentJoiner: ...
    @property
    def is_complete(self) -> bool:
        """Whether no event lacks fragments."""
    def join(self, events: ChangeEvents) -> tuple[ChangeEvents, int]:
        """Whole events, and the number of split events that were skipped. A joined event has the
        token of its last fragment. Raises ValueError for fragments that form no event."""

@final
class MongoTransaction:
    """A transaction that began and did not end: passed from batch to batch, and stored with the
    offset. Immutable."""

    def __new__(
        cls, *, id: str, time: _ClusterTime, ts_ms: int, counts: Mapping[str, int]
    ) -> MongoTransaction: ...
    @staticmethod
    def from_json(text: str) -> MongoTransaction:
        """The inverse of `to_json`. Raises ValueError for other texts."""
    def to_json(self) -> str: ...
    id: Final[str]
    """`lsid` as strict JSON, a colon, `txnNumber`."""
    time: Final[_ClusterTime]
    """Cluster time of its last event."""
    ts_ms: Final[int]
    """`source.ts_ms` of its last event."""
    counts: Final[dict[str, int]]
    """Number of its events by database.collection."""
    events: Final[int]
    def __eq__(self, other: object, /) -> bool: ...

@final
class MongoTransform:
    """A transformation of the events of documents. Immutable."""

    @staticmethod
    def extract_document(
        *,
        layout: Literal["debezium-3", "debezium-2.1"] = "debezium-3",
        arrays: Literal["array", "document"] = "array",
        delimiter: str | None = None,
        deletes: Literal["drop", "tombstone", "rewrite", "rewrite-with-tombstone"] = "tombstone",
        rewrites_with_id: bool = False,
        fields: Sequence[str] = ...,
        field_prefix: str = "__",
        headers: Sequence[str] = ...,
        header_prefix: str = "__",
        names: Literal["none", "avro", "avro_unicode"] = "none",
        omits_removed_fields: bool = False,
    ) -> MongoTransform:
        """`ExtractNewDocumentState`: the document instead of the envelope. `delimiter` joins the
        names of nested fields. Fields that an update removed are null unless omitted. Raises
        ValueError for members that the envelope of `layout` lacks and for unknown values."""
    @staticmethod
    def event_router(
        *,
        id: str = "_id",
        key: str,
        payload: str = "payload",
        timestamp: str | None = None,
        route_by: str = "aggregatetype",
        expands_payload: bool = False,
        tombstones: bool = False,
        rejects_updates: bool = False,
        additional: Sequence[tuple[str, Literal["header", "envelope", "partition"], str]] = ...,
        ignores_missing: bool = False,
        key_converter: _OutboxConverter = "encoding",
        value_converter: _OutboxConverter = "encoding",
        topic_of: Callable[[str], str],
    ) -> MongoTransform:
        """`MongoEventRouter`: the events in an outbox collection, by the names of its fields.
        `additional` are field, placement and alias. `topic_of` returns the topic for a value of
        `route_by`; it is called once for each value. The converters write keys and payloads:
        `string` text as it is, `bytes` binaries alone, `binary` binaries as they are."""

@final
class LinearPattern:
    """A regular expression with the syntax of Rust's `regex` crate, matched in linear time.
    Immutable."""

    def __new__(cls, pattern: str, *, ignores_case: bool = False) -> LinearPattern:
        """Raises ValueError for a pattern that the crate does not support, and OverflowError for
        one whose compiled form is too large."""
    @property
    def groups(self) -> int: ...
    @property
    def groupindex(self) -> dict[str, int]:
        """The numbers of the named groups."""
    def fullmatch(self, text: str) -> bool: ...
    def replace_first(self, text: str, replacement: str) -> str:
        """`${1}` in the replacement is a group, and `$$` a dollar sign."""

@final
class MongoBatch:
    """Messages as bytes, numbered 0 … len-1. Immutable; owns its memory."""

    def __len__(self) -> int: ...
    size_bytes: Final[int]
    """Bytes of keys and values."""
    skipped: Final[dict[str, int]]
    """Number of events without a message by intent: DDL events and `skipped_operations` by
    their `operationType` (`read` for snapshots), those of other collections as
    `not captured`."""
    failures: Final[list[EncodingFailure]]
    """Events that could not be encoded. `position_after` counts them as done, so the caller
    quarantines them first."""
    unregistered: Final[list[Unregistered]]
    """Avro schemas without an id. If there are any, the messages are not valid: register the
    schemas and encode the events again."""
    counts: Final[dict[tuple[str, str], int]]
    """Number of messages by (database.collection, kind). Messages of a database have its name,
    those of transactions `""`."""
    last_write_ts_us: Final[int | None]
    def position_after(self, messages: int) -> int:
        """Number of events whose messages are all among the first `messages`. A delete is done only
        with its tombstone; `len(batch)` returns the number of all events."""
    def transaction_after(self, events: int) -> MongoTransaction | None:
        """The transaction that is open after the first `events` events; None if there is none, or
        without `transaction_topic`."""
    def messages(self, first: int, stop: int) -> list[_Message]:
        """Messages as `EventBatch.messages` returns them; the value of a tombstone is None."""
    def produce_arguments(
        self, first: int, stop: int, partitions: _Partitions, on_delivery: _Delivered
    ) -> list[_Arguments]:
        """Arguments as `EventBatch.produce_arguments` returns them."""
    def ndjson(self, first: int, stop: int) -> bytes:
        """A line for each message: {"topic","key","value","headers"}; key and value as JSON."""

@final
class MongoEncoder:
    """Encodes change documents as messages (docs/reference/mongodb-event-format.md). Immutable."""

    def __new__(
        cls,
        *,
        topic_prefix: str,
        replica_set: str,
        node_id: str,
        connector_version: str = ...,
        layout: Literal["debezium-3", "debezium-2.1", "debezium-1.x", "mongodb"] = "debezium-3",
        document_json: Literal["legacy", "strict", "extended", "relaxed"] = "legacy",
        tombstones: bool = True,
        captures: Callable[[str, str], bool] | None = None,
        skipped_operations: AbstractSet[Literal["c", "u", "d", "r"]] = ...,
        transaction_topic: str | None = None,
        excluded_fields: Sequence[str] = ...,
        renamed_fields: Sequence[str] = ...,
        schema_topic: str | None = None,
        topic_delimiter: str = ".",
        topics: Callable[[str, str], str] | None = None,
        source_version: Literal["v1", "v2"] = "v2",
        key: _Encoding = "json",
        value: _Encoding = "json",
        names: Literal["none", "avro", "avro_unicode"] = "none",
        schema_ids: SchemaIds | None = None,
        transforms: Sequence[MongoTransform] = ...,
        transform_of: Callable[[str, str], int | None] | None = None,
    ) -> MongoEncoder:
        """`captures` and `topics` are called once for each database and collection; the cache of
        10,000 answers is cleared when it is full. Without `captures` all collections are captured;
        snapshot documents always are. Without `topics` the prefix and the delimiter make the names.

        `skipped_operations` have no messages. `transaction_topic` is the topic of begins and ends
        of transactions; events then have transaction metadata. `schema_topic` is the topic of DDL
        events (drop, rename, create, …). Without it they have no messages, except in the layout
        `mongodb`: there they go to the topic of their collection or database. Both are whole names.

        `excluded_fields` are `database.collection.field.nested`, `renamed_fields`
        `database.collection.field:name`; `*` in database and collection matches any text. A
        document that already has a field of the new name fails. Keys and event ids do not change.

        `source_version` is `v1` for the `source` of releases before 0.10, in the layout
        `debezium-1.x` only. `key` and `value` are the encodings, `names` the adjustment of schema
        names, `schema_ids` the ids of Avro schemas. `transform_of` returns the index of a
        collection's transformation, called as often as `topics`; without it the first one applies
        to all. Raises ValueError for unknown values and
        invalid field rules."""
    def encode(
        self,
        events: _Bson | ChangeEvents,
        *,
        transaction: MongoTransaction | None = None,
        at_ns: int | None = None,
    ) -> MongoBatch:
        """Encode raw events of a change stream in its order, published at `at_ns` or now.
        `transaction` is open before them. Events that cannot be encoded are `MongoBatch.failures`,
        not exceptions. Releases the GIL. Raises the exceptions of `captures` and `topics`."""
    def end_transaction(self, transaction: MongoTransaction, time: _ClusterTime) -> MongoBatch:
        """Encode the end of a transaction if `time`, that of a resume token after all its events,
        is later; otherwise the batch is empty. The token counts as the only event of the batch."""
    def encode_snapshot(
        self,
        documents: _Bson,
        *,
        database: str,
        collection: str,
        cluster_time: _ClusterTime,
        read_at_ms: int,
        snapshot: _SnapshotMarker,
        at_ns: int | None = None,
    ) -> MongoBatch:
        """Encode raw documents of one collection as `read` messages. `cluster_time` is a part of
        the event ids, so all documents of a snapshot must have the same. `snapshot` is the value of
        `source.snapshot`; raises ValueError for others. Releases the GIL."""
    def unregistered(self, database: str, collection: str) -> list[Unregistered]:
        """Schemas without an id of the documents of a collection."""
    def heartbeat(self, topic: str, server_name: str, ts_ms: int) -> tuple[bytes, bytes] | None:
        """Key and value of a heartbeat; None until their schemas have ids."""
    def unregistered_heartbeat(self, topic: str) -> list[Unregistered]:
        """Schemas without an id of heartbeats."""

def id_document(document: bytes) -> bytes:
    """Extract `{_id: …}` of a raw document, byte for byte. Raises ValueError without one, and for
    damaged bytes."""
