"""The first position of a stream, after the token in `capture.start.token`.

The server verifies that the token belongs to this cluster and that its event is in the stream.
"""

from mongo_agent.capture.match_stage import fingerprint
from mongo_agent.change_stream.cursor import (
    StreamCursor,
    StreamFailedError,
    StreamSource,
    read_cluster_time,
)
from mongo_agent.change_stream.position import StreamPosition, opening
from mongo_agent.change_stream.tokens import Token, read_token
from mongo_agent.server.errors import Failure
from sidecar.errors import ConfigError

PROPERTY = "capture.start.token"
_COPY_AGAIN = "Copy the whole token again, from a stream of this cluster."
_AHEAD_S = 60
"""How far a member may lag behind the member that issued the token."""


def verify_start_token(token: Token, source: StreamSource, cluster: str) -> StreamPosition:
    """Verify a token by opening the stream once; return the position after the token.

    Raises ConfigError if the server rejects the token, StreamFailedError for other failures. The
    server may detect a missing event only later; the agent then reopens the stream by time.
    """
    passed = fingerprint(source.stages)
    position = StreamPosition(token, read_token(token).time, passed, cluster)
    now = read_cluster_time(source.client)
    if position.time.second > now.second + _AHEAD_S:
        raise ConfigError(
            f"`{PROPERTY}`: the token has the cluster time {position.time}, which is after the "
            f"server's cluster time, {now}. {_COPY_AGAIN}"
        )
    try:
        StreamCursor.open(source, opening(position, passed)).close()
    except StreamFailedError as error:
        remedy = _remedy(error.failure, position)
        if remedy is None:
            raise
        raise ConfigError(
            f"`{PROPERTY}`: the stream cannot start after this token, with the cluster time "
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
                f"{by_time} instead, which repeats the events at that time."
            )
        case Failure.HISTORY_LOST:
            return (
                "The oplog no longer contains all later changes. Remove the property, and set "
                "`snapshot.mode=initial` to publish the existing documents."
            )
    return None
