"""Encodes raw BSON from change streams as messages (docs/reference/mongodb-event-format.md)."""

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
"""The converter of outbox keys or payloads; `encoding` writes them as in other messages."""
_ClusterTime = tuple[int, int]
"""Seconds and increment."""

@final
class EncodingFailure:
    """An event that could not be encoded. `event` is its index in the input, `offset` the offset of
    the error in its bytes, and `cause` the message with that offset. `is_malformed` is true if the
    bytes are not BSON."""

    event: Final[int]
    offset: Final[int]
    cause: Final[str]
    is_malformed: Final[bool]

@final
class ChangeEvents:
    """Raw events in the order of a change stream, with their tokens and times. Immutable; keeps the
    replies that contain the events alive."""

    def __new__(cls, events: _Bson = ...) -> ChangeEvents: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> bytes: ...
    def __iter__(self) -> Iterator[bytes]: ...
    def token(self, index: int) -> bytes | None:
        """Returns the resume token of an event (`_id`) as BSON, or None if it is missing."""
    def time(self, index: int) -> _ClusterTime | None:
        """Returns the `clusterTime` of an event, otherwise the time in its token, or None."""
    def after(self, token: str) -> ChangeEvents:
        """Returns the events after a resume token; `token` is its `_data`. Raises ValueError for
        tokens that do not begin with a cluster time."""

@final
class StreamReply:
    """A raw reply to `aggregate` or `getMore`. Raises ValueError for other bytes, but does not
    check the content of events."""

    def __new__(cls, reply: bytes | memoryview) -> StreamReply: ...
    events: Final[ChangeEvents]
    cursor_id: Final[int]
    """0 if the server closed the cursor."""
    namespace: Final[str]
    """`database.collection` for `getMore`."""
    token: Final[bytes | None]
    """The resume token after all events (`postBatchResumeToken`) as BSON."""
    operation_time: Final[_ClusterTime | None]
    """The cluster time of the reply (`operationTime`)."""

@final
class FragmentJoiner:
    """Joins the fragments of events that the server split (`$changeStreamSplitLargeEvent`), across
    the replies of one cursor. `skips_split_events` omits such events."""

    def __new__(cls, *, skips_split_events: bool = False) -> FragmentJoiner: ...
    @property
    def is_complete(self) -> bool:
        """Whether no event waits for further fragments."""
    def join(self, events: ChangeEvents) -> tuple[ChangeEvents, int]:
        """Returns whole events and the number of skipped split events. A joined event contains the
        token of its last fragment. Raises ValueError for fragments that do not form an event."""

@final
class MongoTransaction:
    """An open transaction, which is passed from batch to batch and stored with the offset.
    Immutable."""

    def __new__(
        cls, *, id: str, time: _ClusterTime, ts_ms: int, counts: Mapping[str, int]
    ) -> MongoTransaction: ...
    @staticmethod
    def from_json(text: str) -> MongoTransaction:
        """Parses the result of `to_json`. Raises ValueError for other text."""
    def to_json(self) -> str: ...
    id: Final[str]
    """`lsid` as strict extended JSON, a colon and `txnNumber`."""
    time: Final[_ClusterTime]
    """Latest cluster time of its events."""
    ts_ms: Final[int]
    """`source.ts_ms` of its last event."""
    counts: Final[dict[str, int]]
    """Number of its events by `database.collection`."""
    events: Final[int]
    def __eq__(self, other: object, /) -> bool: ...

@final
class MongoTransform:
    """A transformation of document events. Immutable."""

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
        """Creates `ExtractNewDocumentState`, which replaces the envelope with the document.
        `delimiter` flattens documents and joins the names of nested fields. Fields that an update
        removed are null unless omitted. Raises ValueError for members that the envelope of `layout`
        does not contain, and for unknown values."""
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
        """Creates `MongoEventRouter`, which publishes the events in an outbox collection.
        `additional` lists field, placement and alias. `topic_of` returns the topic for a value of
        `route_by`; its results are cached. Key and payload converters: `string` writes text without
        quotes, `bytes` accepts only binaries, `binary` writes binaries unchanged."""

@final
class LinearPattern:
    """A regular expression with the syntax of Rust's `regex` crate, matched in linear time.
    Immutable."""

    def __new__(cls, pattern: str, *, ignores_case: bool = False) -> LinearPattern:
        """Raises ValueError for a pattern that the crate does not support, and OverflowError for a
        pattern whose compiled form exceeds 32 MiB."""
    @property
    def groups(self) -> int: ...
    @property
    def groupindex(self) -> dict[str, int]:
        """The numbers of the named groups."""
    def fullmatch(self, text: str) -> bool: ...
    def replace_first(self, text: str, replacement: str) -> str:
        """Replaces the first match. `${1}` in the replacement is a group, `$$` a dollar sign."""

@final
class MongoBatch:
    """Messages as bytes, numbered 0 … len-1. Immutable; owns its memory."""

    def __len__(self) -> int: ...
    size_bytes: Final[int]
    """Bytes of all keys and values."""
    skipped: Final[dict[str, int]]
    """Number of events that produce no message: by `operationType` (`read` for snapshots) for DDL
    events, `skipped_operations` and events that a transformation drops, as `not captured` for
    other collections."""
    failures: Final[list[EncodingFailure]]
    """Events that could not be encoded. `position_after` counts them as done, so the caller must
    quarantine them first."""
    unregistered: Final[list[Unregistered]]
    """Avro schemas without an id. If there are any, the messages are invalid: register the
    schemas and encode the events again."""
    counts: Final[dict[tuple[str, str], int]]
    """Number of messages by (database.collection, kind). Database events are counted under the
    name of the database, transactions under `""`."""
    last_write_ts_us: Final[int | None]
    def position_after(self, messages: int) -> int:
        """Returns the number of events whose messages are all among the first `messages`, including
        the tombstones of deletes. `len(batch)` messages complete all events."""
    def transaction_after(self, events: int) -> MongoTransaction | None:
        """Returns the transaction that is open after the first `events` events, or None. The result
        is always None without `transaction_topic`."""
    def messages(self, first: int, stop: int) -> list[_Message]:
        """Returns messages like `EventBatch.messages`; the value of a tombstone is None."""
    def produce_arguments(
        self, first: int, stop: int, partitions: _Partitions, on_delivery: _Delivered
    ) -> list[_Arguments]:
        """Returns arguments like `EventBatch.produce_arguments`."""
    def ndjson(self, first: int, stop: int) -> bytes:
        """Returns one JSON line per message: {"topic","key","value","headers"}."""

@final
class MongoEncoder:
    """Encodes change events as messages (docs/reference/mongodb-event-format.md). Immutable."""

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
        """`captures` and `topics` are called once per collection; a cache of 10,000 results is
        cleared when full. Without `captures`, all collections are captured. Snapshot documents are
        always encoded. Without `topics`, topic names consist of prefix, database and collection.

        `skipped_operations` produce no messages. `transaction_topic` is the topic of the start and
        end of transactions; it adds transaction metadata to events. `schema_topic` is the topic of
        DDL events (drop, rename, create, …). Without it they are skipped, but in the layout
        `mongodb` they go to the topic of their collection or database. Both are full topic names.

        `excluded_fields` use the form `database.collection.field.nested`, `renamed_fields`
        `database.collection.field:name`; `*` in database and collection matches any text. Documents
        that already contain the new name are rejected. Keys and event ids do not change.

        `source_version` `v1` selects the `source` of Debezium before 0.10, only in the layout
        `debezium-1.x`. `key` and `value` are the encodings, `names` the adjustment of schema names,
        `schema_ids` the ids of Avro schemas. `transform_of` returns the index of a collection's
        transformation, or None; its results are cached like those of `topics`. Without it, the
        first transformation applies to all collections. Raises ValueError for unknown values and
        invalid field rules."""
    def encode(
        self,
        events: _Bson | ChangeEvents,
        *,
        transaction: MongoTransaction | None = None,
        at_ns: int | None = None,
    ) -> MongoBatch:
        """Encodes raw events in the order of the change stream, published at `at_ns` or now.
        `transaction` is open before them. Events that cannot be encoded are `MongoBatch.failures`,
        not exceptions. Releases the GIL. Propagates exceptions of the callables."""
    def end_transaction(self, transaction: MongoTransaction, time: _ClusterTime) -> MongoBatch:
        """Encodes the end of a transaction if a resume token after its events has a later `time`.
        Otherwise the batch is empty. The token counts as the only event of the batch."""
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
        """Encodes raw documents of one collection as `read` messages. `cluster_time` is part of the
        event ids, so a second read at that time produces equal ids. `snapshot` is the value of
        `source.snapshot`; raises ValueError for unknown values. Releases the GIL."""
    def unregistered(self, database: str, collection: str) -> list[Unregistered]:
        """Returns the schemas without an id for a collection; none if a transformation applies."""
    def heartbeat(self, topic: str, server_name: str, ts_ms: int) -> tuple[bytes, bytes] | None:
        """Returns key and value of a heartbeat, or None until their schemas have ids."""
    def unregistered_heartbeat(self, topic: str) -> list[Unregistered]:
        """Returns the schemas without an id for heartbeats."""

def id_document(document: bytes) -> bytes:
    """Extracts `{_id: …}` from a raw document, byte for byte. Raises ValueError for invalid bytes,
    and for a document without `_id`."""
