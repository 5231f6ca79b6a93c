"""Encodes raw BSON of change streams as messages (docs/reference/mongodb-event-format.md)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Literal, final

from commitlog._commitlog import SchemaIds, Unregistered, _Delivered, _Headers, _Partitions

_SnapshotMark = Literal[
    "true", "first", "first_in_data_collection", "last_in_data_collection", "last", "incremental"
]
_Message = tuple[str, bytes, bytes | None, _Headers, int]
_Arguments = tuple[str, bytes | None, bytes, int, _Delivered, None, int, _Headers]
_Encoding = Literal["json", "json_with_schema", "avro"]
_Bson = Sequence[bytes | memoryview]
__all__ = [
    "ChangeEvents",
    "FragmentJoiner",
    "MongoBatch",
    "MongoEncoder",
    "MongoTransaction",
    "RefusedEvent",
    "StreamReply",
]

_ClusterTime = tuple[int, int]
"""Seconds and increment."""

@final
class RefusedEvent:
    """An event that gives no message: its bytes are no BSON, or lack what an event must have.
    `event` is its index in what was given, `cause` one sentence with the offset in its bytes."""

    @property
    def event(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def cause(self) -> str: ...

@final
class ChangeEvents:
    """Raw events of a change stream, in its order: a sequence of bytes, and columns of what the
    agent needs of them. Immutable; keeps the replies that its events lie in."""

    def __new__(cls, events: _Bson = ...) -> ChangeEvents: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> bytes: ...
    def __iter__(self) -> Iterator[bytes]: ...
    def token(self, index: int) -> bytes | None:
        """The resume token of an event (`_id`) as BSON; None for bytes without one."""
    def time(self, index: int) -> _ClusterTime | None:
        """The `clusterTime` of an event, else that of its token; None for bytes without either."""
    def after(self, token: str) -> ChangeEvents:
        """The events that are later in the stream than a token, given by its `_data`. Raises
        ValueError for tokens that do not begin with a cluster time."""

@final
class StreamReply:
    """A raw reply to `aggregate` or `getMore`. Raises ValueError for bytes that are no such reply;
    the content of events is not checked."""

    def __new__(cls, reply: bytes | memoryview) -> StreamReply: ...
    @property
    def events(self) -> ChangeEvents: ...
    @property
    def cursor_id(self) -> int:
        """0 when the server closed the cursor."""
    @property
    def namespace(self) -> str:
        """`database.collection` for `getMore`."""
    @property
    def token(self) -> bytes | None:
        """The resume token after all events (`postBatchResumeToken`) as BSON."""
    @property
    def operation_time(self) -> _ClusterTime | None:
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
    """A transaction that has begun, as it goes from batch to batch and into the stored position.
    Immutable."""

    def __new__(
        cls, *, id: str, time: _ClusterTime, ts_ms: int, counts: Mapping[str, int]
    ) -> MongoTransaction: ...
    @staticmethod
    def from_json(text: str) -> MongoTransaction:
        """What `to_json` gave. Raises ValueError for another text."""
    def to_json(self) -> str: ...
    @property
    def id(self) -> str:
        """`lsid` as strict JSON, a colon, `txnNumber`."""
    @property
    def time(self) -> _ClusterTime:
        """Of its last event."""
    @property
    def ts_ms(self) -> int:
        """`source.ts_ms` of its last event."""
    @property
    def counts(self) -> dict[str, int]:
        """Its events so far by database.collection."""
    @property
    def events(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class MongoBatch:
    """Messages as bytes, numbered 0 … len-1. Immutable; owns its memory."""

    def __len__(self) -> int: ...
    @property
    def size_bytes(self) -> int:
        """Keys and values."""
    @property
    def skipped(self) -> dict[str, int]:
        """Events that give no message by intent: those of no document, where these give none, and
        those of `skipped_operations` by their `operationType` (a copied document is a `read`),
        those of collections that are not captured as `not captured`."""
    @property
    def refused(self) -> list[RefusedEvent]:
        """Events that gave no message. `position_after` counts them as done: whoever goes on
        puts them into quarantine first."""
    @property
    def unregistered(self) -> list[Unregistered]:
        """Schemas of Avro that have no id yet. With any of them the messages are no messages, and
        the batch is to be made again."""
    @property
    def counts(self) -> dict[tuple[str, str], int]:
        """Messages by (database.collection, kind); those of a database by its name,
        those of transactions by `""`."""
    @property
    def last_write_ts_us(self) -> int | None: ...
    def position_after(self, messages: int) -> int:
        """How many of the events that were given are wholly done when the first `messages`
        messages are: a delete only with its tombstone; `len(batch)` gives all of them."""
    def transaction_after(self, events: int) -> MongoTransaction | None:
        """The transaction that is open when so many of the events are done; None without one, and
        where transactions are not told of."""
    def messages(self, first: int, stop: int) -> list[_Message]:
        """As `EventBatch.messages`; the value of a tombstone is None."""
    def produce_arguments(
        self, first: int, stop: int, partitions: _Partitions, on_delivery: _Delivered
    ) -> list[_Arguments]:
        """The same messages as `EventBatch.produce_arguments` has them."""
    def ndjson(self, first: int, stop: int) -> bytes:
        """One line a message: {"topic","key","value","headers"}; key and value as JSON."""

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
    ) -> MongoEncoder:
        """`captures` is asked once by database and collection, until 10,000 answers are remembered
        and all are forgotten; without it all collections are captured. Copied documents are those
        that were asked for. `skipped_operations` give no message. With `transaction_topic`, a whole
        name, events say which transaction they are part of, and begin and end of each go there.
        `excluded_fields` as `database.collection.field.nested` are left out of values, those of
        `renamed_fields`, with `:name` behind it, get another name; `*` in database and collection
        is any text. A document that has a field of the new name already is refused. Keys and event
        ids stay as they are. `schema_topic`, a whole name, is where events of no document go (drop,
        rename, create, …); without it they give no message, but in the layout `mongodb`, where each
        goes to the topic of its collection or database. `topics` gives the topic of a database and
        collection, asked and remembered as `captures`, and instead of the name by prefix and
        delimiter. `source_version` is `v1` for the `source` of releases before 0.10, in the layout
        `debezium-1.x` alone. `key` and `value` are what those are written as, `names` how the
        names of their schemas are adjusted, `schema_ids` the ids of such as are Avro. Raises
        ValueError for a layout, JSON or operation that is not known, and for a field that is
        none."""
    def encode(
        self,
        events: _Bson | ChangeEvents,
        *,
        transaction: MongoTransaction | None = None,
        at_ns: int | None = None,
    ) -> MongoBatch:
        """Raw events of a change stream, in its order, published at `at_ns` or now. `transaction`
        is the one that is open in front of them. Bytes are never an error: see
        `MongoBatch.refused`. Releases the GIL. Raises what `captures` raises."""
    def end_transaction(self, transaction: MongoTransaction, time: _ClusterTime) -> MongoBatch:
        """The end of a transaction, when `time`, that of a resume token behind all its events, is
        later than it; else no message. The token is the one event of the batch."""
    def encode_copied(
        self,
        documents: _Bson,
        *,
        database: str,
        collection: str,
        cluster_time: _ClusterTime,
        read_at_ms: int,
        snapshot: _SnapshotMark,
        at_ns: int | None = None,
    ) -> MongoBatch:
        """Raw documents of one collection as `read` messages. `cluster_time` (seconds, increment)
        goes into the event ids, so all documents of one copy must have the same; `snapshot` is
        what `source.snapshot` says. Raises ValueError for another mark. Releases the GIL."""
    def unregistered(self, database: str, collection: str) -> list[Unregistered]:
        """Schemas of the documents of a collection that have no id."""
    def heartbeat(self, topic: str, server_name: str, ts_ms: int) -> tuple[bytes, bytes] | None:
        """Key and value; None while their schemas have no id."""
    def unregistered_heartbeat(self, topic: str) -> list[Unregistered]:
        """Schemas of heartbeats that have no id."""
