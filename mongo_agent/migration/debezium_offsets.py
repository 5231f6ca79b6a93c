"""The position of Debezium's MongoDB connector as one of this agent.

    {"sec": 1707147246, "ord": 3, "initsync": false, "resume_token": "…", "transaction_id": …}

`resume_token` is the token's BSON in base64 (2.x and later) or its `_data` (1.9); offsets of a copy
have none, and those of heartbeats have a token and -1 for the time. Up to 2.5 there was one
offset for each shard, with the name of its replica set in `rs` (`MongoDbOffsetContext`).
"""

import base64
import binascii
import re
from collections.abc import Sequence
from dataclasses import dataclass

import bson
from bson.errors import BSONError

from mongo_agent.change_stream.position import StreamPosition, Token
from mongo_agent.change_stream.tokens import ClusterTime, read_token
from mongo_agent.migration.connect_offsets import ConnectOffset
from sidecar.errors import ConfigError

_SERVER, _REPLICA_SET = "server_id", "rs"
_HEXADECIMAL = re.compile(r"[0-9A-Fa-f]+")
_FOREIGN_PIPELINE = ""
"""No fingerprint is like it, so the stream is opened by the time and what was sent is passed over
by its token: Debezium's pipeline is another one than ours."""


@dataclass(frozen=True, slots=True)
class ImportedPosition:
    """Where the stream goes on, and what a person is told of that."""

    position: StreamPosition
    sentences: tuple[str, ...]


def imported_position(
    offsets: Sequence[ConnectOffset], server_id: str, cluster: str, *, oldest: bool = False
) -> ImportedPosition:
    """The position under the logical name `server_id` (`topic.prefix`), in the cluster that the
    agent is connected to.

    Of several, such as one for each shard, the oldest is taken with `oldest`; otherwise they are
    refused. Raises ConfigError, one sentence.
    """
    ours = [each for each in offsets if each.partition.get(_SERVER) == server_id]
    if not ours:
        raise ConfigError(_none(offsets, server_id))
    copying = [each for each in ours if each.offset.get("initsync") is True]
    if copying:
        raise ConfigError(
            f"{_name(copying[0])} was still copying when it stopped, and a copy is not taken over: "
            "start the agent without a position and with `snapshot.mode=initial`, so that the copy "
            "is made anew."
        )
    if len(ours) > 1 and not oldest:
        names = ", ".join(f"{_name(each)} at {_time(each, _token(each))}" for each in ours)
        raise ConfigError(
            f"There are {len(ours)} offsets of {server_id}: {names}. Take the oldest of them with "
            "--oldest, which repeats what the others are ahead, or give a file with one."
        )
    taken = min(ours, key=lambda each: _time(each, _token(each)))
    # Tokens of different streams do not compare, so of several only the time is of use.
    token = None if len(ours) > 1 else _token(taken)
    position = StreamPosition(token or {}, _time(taken, _token(taken)), _FOREIGN_PIPELINE, cluster)
    return ImportedPosition(position, tuple(_sentences(taken, position, len(ours))))


def _sentences(taken: ConnectOffset, position: StreamPosition, count: int) -> list[str]:
    where = f"the position of {_name(taken)}: cluster time {position.time}"
    if position.token:
        told = [f"Taken is {where} and its resume token; nothing is repeated."]
    elif count > 1:
        told = [
            f"Taken is {where}, the oldest of {count}; events of this time and later come again, "
            "as far as they were delivered."
        ]
    else:
        told = [f"Taken is {where}; it has no resume token, so events of this time come again."]
    if taken.offset.get("transaction_id") is not None:
        told.append(
            f"The transaction {taken.offset['transaction_id']} was open: the numbers of its events "
            "begin anew."
        )
    if any(n.startswith("incremental_snapshot_") and v for n, v in taken.offset.items()):
        told.append("An incremental snapshot was under way; ask for it again by a signal.")
    return told


def _none(offsets: Sequence[ConnectOffset], server_id: str) -> str:
    others = sorted({str(o.partition[_SERVER]) for o in offsets if _SERVER in o.partition})
    if not others:
        return "There are no offsets of a Debezium connector in it."
    return (
        f"There is no offset of {server_id} (topic.prefix) in it, but of {', '.join(others)}. Set "
        "`topic.prefix` to the name that the connector had (`topic.prefix` or `mongodb.name`)."
    )


def _name(offset: ConnectOffset) -> str:
    replica_set = offset.partition.get(_REPLICA_SET)
    return offset.connector if replica_set is None else f"{offset.connector} ({replica_set})"


def _time(offset: ConnectOffset, token: Token | None) -> ClusterTime:
    """That of the token: the offset of a heartbeat has no other."""
    if token is not None:
        return read_token(token).time
    second, increment = offset.offset.get("sec"), offset.offset.get("ord")
    if not isinstance(second, int) or second <= 0:
        raise ConfigError(f"The offset of {_name(offset)} has neither a resume token nor a time.")
    return ClusterTime(second, increment if isinstance(increment, int) and increment > 0 else 0)


def _token(offset: ConnectOffset) -> Token | None:
    """None where the offset has none, or one that says nothing, as those of DocumentDB: it could
    not be compared with that of an event."""
    text = offset.offset.get("resume_token")
    if not isinstance(text, str) or not text:
        return None
    try:
        data = text if _HEXADECIMAL.fullmatch(text) else _data(text)
    except (binascii.Error, BSONError) as error:
        raise ConfigError(
            f"The resume token of {_name(offset)} cannot be read: {error}."
        ) from error
    token = {"_data": data}
    try:
        read_token(token)
    except ValueError:
        return None
    return token


def _data(text: str) -> str:
    """Of a token's BSON in base64. Empty where it is no text, as of servers before 4.0."""
    data = bson.decode(base64.b64decode(text, validate=True)).get("_data")
    return data if isinstance(data, str) else ""
