"""Conversion of the offset of Debezium's MongoDB connector.

    {"sec": 1707147246, "ord": 3, "initsync": false, "resume_token": "…", "transaction_id": …}

`resume_token` is the token's BSON in base64 (2.x and later) or its `_data` (1.9). Offsets of a
snapshot have none; those of heartbeats have a token and -1 as time. Up to 2.5 each shard has an
offset, with the name of its replica set in `rs` (`MongoDbOffsetContext`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from mongo_agent.change_stream.position import StreamPosition
from mongo_agent.change_stream.tokens import Token, read_token, token_from_text
from mongo_agent.documents import ClusterTime
from mongo_agent.migration.connect_offsets import ConnectOffset
from sidecar.errors import ConfigError

_SERVER, _REPLICA_SET = "server_id", "rs"
_FOREIGN_PIPELINE = ""
"""Equal to no fingerprint: the agent opens the stream by time and skips delivered events by token,
because Debezium's pipeline differs from the agent's."""


@dataclass(frozen=True, slots=True)
class ImportedPosition:
    """The position at which the stream resumes, and messages about it."""

    position: StreamPosition
    messages: tuple[str, ...]


def imported_position(
    offsets: Sequence[ConnectOffset], server_id: str, cluster: str, *, oldest: bool = False
) -> ImportedPosition:
    """The position of the logical name `server_id` (`topic.prefix`) in the connected cluster.

    With `oldest` the oldest of several offsets, such as those of shards, is used; without it
    several are an error. Raises ConfigError.
    """
    ours = [each for each in offsets if each.partition.get(_SERVER) == server_id]
    if not ours:
        raise ConfigError(_missing_message(offsets, server_id))
    copying = [each for each in ours if each.offset.get("initsync") is True]
    if copying:
        raise ConfigError(
            f"{_name(copying[0])} stopped during its snapshot, and the agent cannot continue it. "
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
        messages = [f"Imported {where}, without a resume token. Events of this time are repeated."]
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
        f"The input has no offset of {server_id} (topic.prefix), only of {', '.join(others)}. Set "
        "`topic.prefix` to the connector's `topic.prefix` or `mongodb.name`."
    )


def _name(offset: ConnectOffset) -> str:
    replica_set = offset.partition.get(_REPLICA_SET)
    return offset.connector if replica_set is None else f"{offset.connector} ({replica_set})"


def _time(offset: ConnectOffset, token: Token | None) -> ClusterTime:
    """The time of the token, which is the only one in the offset of a heartbeat."""
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
    """The resume token; None without one, or for an opaque token as from DocumentDB."""
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
