"""The first position of a stream, after the token of `capture.start.token`.

The server verifies the token: it must be of this cluster, and its event must be in the stream.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mongo_agent.capture.match_stage import fingerprint
from mongo_agent.capture.namespaces import Scope
from mongo_agent.change_stream.cursor import StreamCursor, StreamFailedError, read_cluster_time
from mongo_agent.change_stream.options import StreamOptions
from mongo_agent.change_stream.position import StreamPosition, opening
from mongo_agent.change_stream.tokens import Token, read_token
from mongo_agent.server.commands import Client
from mongo_agent.server.errors import Failure
from sidecar.errors import ConfigError

PROPERTY = "capture.start.token"
_COPY_AGAIN = "Copy the whole token again, from a stream of this cluster."
_AHEAD_S = 60
"""How far a member may be behind the one that gave the token."""


def verify_start_token(
    token: Token,
    client: Client,
    scope: Scope,
    stages: Sequence[Mapping[str, Any]],
    options: StreamOptions,
    cluster: str,
) -> StreamPosition:
    """The position after a token, which a trial opening of the stream accepted.

    Raises ConfigError when the server rejects the token, StreamFailedError for other failures. The
    server may find out later that the event is missing; the agent then opens the stream by time.
    """
    passed = fingerprint(stages)
    position = StreamPosition(token, read_token(token).time, passed, cluster)
    now = read_cluster_time(client)
    if position.time.second > now.second + _AHEAD_S:
        raise ConfigError(
            f"`{PROPERTY}`: the token is of the cluster time {position.time}, which is after that "
            f"of the server, {now}. {_COPY_AGAIN}"
        )
    try:
        StreamCursor.open(client, scope, stages, opening(position, passed), options).close()
    except StreamFailedError as error:
        remedy = _remedy(error.failure, position)
        if remedy is None:
            raise
        raise ConfigError(
            f"`{PROPERTY}`: the stream cannot start after this token, of the cluster time "
            f"{position.time}: {error}. {remedy}"
        ) from error
    return position


def _remedy(failure: Failure, position: StreamPosition) -> str | None:
    by_time = f"`capture.start.op.time={position.time}`"
    match failure:
        case Failure.INVALID_TOKEN:
            return _COPY_AGAIN
        case Failure.FILTERED_TOKEN:
            return (
                "Its event belongs to another cluster, database or collection, or the filters "
                "remove it. Copy a token of this stream. If the cluster is the same, you can use "
                f"{by_time} instead, which repeats the events of that time."
            )
        case Failure.HISTORY_LOST:
            return (
                "The oplog no longer contains all later changes. Remove the property, and set "
                "`snapshot.mode=initial` to publish the present documents."
            )
    return None
