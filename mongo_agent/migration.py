"""Import of the Debezium MongoDB connector's offsets from Kafka Connect's offset stores.

    ["shop-connector", {"server_id": "shop"}]  →
    {"sec": 1707147246, "ord": 3, "initsync": false, "resume_token": "…", "transaction_id": …}

A standalone worker stores them in a file (`offset.storage.file.filename`), a serialised Java map of
byte arrays (`FileOffsetBackingStore`). A distributed worker stores them in a topic
(`offset.storage.topic`); the agent also reads its records as lines of text, as the console consumer
prints them with `print.key=true`.

`resume_token` is the token's BSON in base64 (2.x and later) or its `_data` (1.9). Snapshot offsets
have no token; heartbeat offsets have a token, and -1 as the time. Up to 2.5, each shard has an
offset, with the name of its replica set in `rs` (`MongoDbOffsetContext`).
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import javaobj

from mongo_agent.change_stream.position import StreamPosition
from mongo_agent.change_stream.tokens import Token, read_token, token_from_text
from mongo_agent.check.connection_diagnostics import ANSWER_MS, connect
from mongo_agent.config.loading import MongoConfig
from mongo_agent.config.shard_assignment import assign_shard
from mongo_agent.documents import ClusterTime
from mongo_agent.offsets import OFFSET_FILE, AgentOffsets, StreamOffset
from mongo_agent.offsets.kafka_store import position_records
from mongo_agent.pipeline.batches import OwnMessages
from mongo_agent.server.deployment import Deployment
from mongo_agent.snapshot.progress import SnapshotProgress
from mongo_agent.snapshot.records import InitialSnapshot
from sidecar.delivery.sink_registry import create_transactional_sink
from sidecar.errors import ConfigError, UnavailableError
from sidecar.events import NumberedBatch
from sidecar.files.locks import DirectoryLock
from sidecar.offsets.position_store import PositionRecords
from sidecar.offsets.properties_store import PropertiesStore

_JAVA_STREAM = b"\xac\xed"
_SEPARATOR = b"\t"

Record = tuple[bytes, bytes | None]
"""Key and value; a record without a value deletes the key."""
_SERVER, _REPLICA_SET = "server_id", "rs"
_FOREIGN_PIPELINE = ""
"""Matches no fingerprint, because Debezium's pipeline differs from the agent's: the agent opens the
stream by time and skips delivered events by token."""
_COMMIT_S = 60.0


@dataclass(frozen=True, slots=True)
class ConnectOffset:
    connector: str
    partition: Mapping[str, Any]
    offset: Mapping[str, Any]


def read_file(content: bytes) -> list[Record]:
    """Parse the file of a standalone worker, or lines. Raises ConfigError for other content."""
    if content.startswith(_JAVA_STREAM):
        return _java_map(content)
    lines = [line for line in content.splitlines() if line.strip()]
    return [_line(number, line) for number, line in enumerate(lines, start=1)]


def connect_offsets(records: Iterable[Record]) -> list[ConnectOffset]:
    """Return the latest offset of each key, ordered by the first record of the key.

    Skips unknown key formats, because an offset topic may contain offsets of any connector.
    """
    last: dict[bytes, bytes | None] = {}
    for key, value in records:
        last[key] = value
    offsets = []
    for key, value in last.items():
        match _json(key), _json(value or b"null"):
            case [str(connector), dict(partition)], dict(offset):
                offsets.append(ConnectOffset(connector, partition, offset))
    return offsets


def _java_map(content: bytes) -> list[Record]:
    # The library is untyped.
    load: Any = javaobj.loads
    try:
        pairs = load(content).items()
        return [(_bytes(key), None if value is None else _bytes(value)) for key, value in pairs]
    except Exception as error:
        # The library raises arbitrary exceptions: struct.error, IndexError, AttributeError …
        raise ConfigError(
            f"The file is a serialised Java object, but not the map of byte arrays that Kafka "
            f"Connect writes: {error}. Use the file that `offset.storage.file.filename` names."
        ) from error


def _bytes(array: Iterable[int]) -> bytes:
    # Java's bytes are signed.
    return bytes(each & 0xFF for each in array)


def _line(number: int, line: bytes) -> Record:
    key, separator, value = line.partition(_SEPARATOR)
    if not separator:
        raise ConfigError(
            f"Line {number} is not an offset. It must be `<key><tab><value>`, as "
            "kafka-console-consumer.sh prints it with --property print.key=true."
        )
    return key.strip(), None if value.strip() in (b"null", b"") else value.strip()


def _json(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


@dataclass(frozen=True, slots=True)
class ImportedPosition:
    """The position at which the stream resumes, and messages about it."""

    position: StreamPosition
    messages: tuple[str, ...]


def imported_position(
    offsets: Sequence[ConnectOffset], server_id: str, cluster: str, *, oldest: bool = False
) -> ImportedPosition:
    """Choose the position for the logical name `server_id` (`topic.prefix`) in the cluster.

    With `oldest`, uses the oldest of several offsets, such as one per shard; otherwise several
    offsets are an error. Raises ConfigError.
    """
    ours = [each for each in offsets if each.partition.get(_SERVER) == server_id]
    if not ours:
        raise ConfigError(_missing_message(offsets, server_id))
    copying = [each for each in ours if each.offset.get("initsync") is True]
    if copying:
        raise ConfigError(
            f"{_name(copying[0])} stopped during its snapshot, which the agent cannot continue. "
            "Start the agent without an offset and with `snapshot.mode=initial` for a new snapshot."
        )
    if len(ours) > 1 and not oldest:
        names = ", ".join(f"{_name(each)} at {_time(each, _token(each))}" for each in ours)
        raise ConfigError(
            f"There are {len(ours)} offsets of {server_id}: {names}. Use --oldest, which repeats "
            "the later events of the others, or a file with one offset."
        )
    taken = min(ours, key=lambda each: _time(each, _token(each)))
    # Tokens of different streams are not comparable, so only the time of several is usable.
    token = None if len(ours) > 1 else _token(taken)
    position = StreamPosition(token or {}, _time(taken, _token(taken)), _FOREIGN_PIPELINE, cluster)
    return ImportedPosition(position, tuple(_messages(taken, position, len(ours))))


def _messages(taken: ConnectOffset, position: StreamPosition, count: int) -> list[str]:
    where = f"the offset of {_name(taken)}: cluster time {position.time}"
    if position.token:
        messages = [f"Imported {where}, with its resume token. No event is repeated."]
    elif count > 1:
        messages = [
            f"Imported {where}, the oldest of {count}. Delivered events from this time on are "
            "repeated."
        ]
    else:
        messages = [f"Imported {where}, without a resume token. Events at this time are repeated."]
    if taken.offset.get("transaction_id") is not None:
        messages.append(
            f"The transaction {taken.offset['transaction_id']} was open; the numbering of its "
            "events restarts."
        )
    if any(n.startswith("incremental_snapshot_") and v for n, v in taken.offset.items()):
        messages.append("An incremental snapshot was running; request it again by a signal.")
    return messages


def _missing_message(offsets: Sequence[ConnectOffset], server_id: str) -> str:
    others = sorted({str(o.partition[_SERVER]) for o in offsets if _SERVER in o.partition})
    if not others:
        return "The input contains no offsets of a Debezium connector. Check the file or topic."
    return (
        f"The input has no offset for {server_id} (topic.prefix), only for {', '.join(others)}. "
        "Set `topic.prefix` to the connector's `topic.prefix` or `mongodb.name`."
    )


def _name(offset: ConnectOffset) -> str:
    replica_set = offset.partition.get(_REPLICA_SET)
    return offset.connector if replica_set is None else f"{offset.connector} ({replica_set})"


def _time(offset: ConnectOffset, token: Token | None) -> ClusterTime:
    """Return the token's time, the only valid time in a heartbeat offset, else `sec` and `ord`."""
    if token is not None:
        return read_token(token).time
    second, increment = offset.offset.get("sec"), offset.offset.get("ord")
    if not isinstance(second, int) or second <= 0:
        raise ConfigError(
            f"The offset of {_name(offset)} has neither a resume token nor a time. Start without "
            "it."
        )
    return ClusterTime(second, increment if isinstance(increment, int) and increment > 0 else 0)


def _token(offset: ConnectOffset) -> Token | None:
    """Return the resume token, or None if it is missing or opaque, such as DocumentDB's."""
    text = offset.offset.get("resume_token")
    if not isinstance(text, str) or not text:
        return None
    try:
        token = token_from_text(text)
    except ValueError as error:
        raise ConfigError(
            f"The resume token of {_name(offset)} cannot be read: {error}. Use --from-topic or an "
            "intact file."
        ) from error
    try:
        read_token(token)
    except ValueError:
        return None
    return token


def import_offsets(
    config: MongoConfig, offsets: Sequence[ConnectOffset], *, oldest: bool, replace: bool
) -> tuple[str, ...]:
    """Store the offset of Debezium's connector and return messages about the result.

    Queries MongoDB for its deployment. Raises ConfigError for unusable offsets and for existing
    offsets without `replace`, LockedError while the agent runs.
    """
    config = assign_shard(config, ANSWER_MS).config or config
    with connect(config) as (_, deployment):
        taken = imported_position(
            offsets, config.properties.topic_prefix, deployment.cluster, oldest=oldest
        )
    # Debezium's snapshot is complete, so the agent takes none.
    stream = StreamOffset(taken.position, None, SnapshotProgress(initial=InitialSnapshot.DONE))
    position = AgentOffsets()
    for scope in config.scopes:
        position = position.moved(scope.stream_name, stream)
    directory = config.properties.offset_directory
    with DirectoryLock(directory, private=directory):
        where = _store(config, deployment, position, replace=replace)
    return (*taken.messages, f"The offset is stored in {where}.")


def _store(
    config: MongoConfig, deployment: Deployment, position: AgentOffsets, *, replace: bool
) -> str:
    records = position_records(config, deployment)
    if records is None:
        properties = config.properties
        file = PropertiesStore(properties.offset_directory, OFFSET_FILE, properties.topic_prefix)
        _require_empty(bool(file.load().values), str(file.path), replace)
        file.save(position.values())
        return str(file.path)
    _store_in_kafka(config, records, position, replace=replace)
    return f"the topic {records.topic}"


def _store_in_kafka(
    config: MongoConfig, records: PositionRecords, position: AgentOffsets, *, replace: bool
) -> None:
    properties = config.properties
    sink = create_transactional_sink(properties, records, properties.position_commit_interval_ms)
    try:
        _require_empty(bool(sink.load().values), f"the topic {records.topic}", replace)
        for stream, reached in position.streams.items():
            sink.send(NumberedBatch(stream, OwnMessages((), reached), 0), 0, 0.0)
    finally:
        sink.close(_COMMIT_S)
    try:
        if sink.load().values != position.values():
            raise UnavailableError(
                f"The offset was not written to the topic {records.topic}. Check the broker and "
                "retry."
            )
    finally:
        sink.close(0.0)


def _require_empty(is_there: bool, where: str, replace: bool) -> None:
    if is_there and not replace:
        raise ConfigError(f"{where} already contains an offset. Use --replace to overwrite it.")
