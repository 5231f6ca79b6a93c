"""Resume tokens and cluster times of raw events."""

import bson
from bson.errors import BSONError

from mongo_agent.change_stream.tokens import Token
from mongo_agent.documents.cluster_time import ClusterTime
from mongo_agent.encoder import ChangeEvents

NO_EVENTS = ChangeEvents()


class UnreadableEventError(ValueError):
    """An event without the members that give its place in the stream."""


def token_at(events: ChangeEvents, index: int) -> Token:
    """The resume token of an event. Raises `UnreadableEventError` for bytes without a token."""
    token = events.token(index)
    if token is None:
        raise UnreadableEventError("an event without `_id`: its bytes are damaged")
    try:
        return bson.decode(token)
    except BSONError as error:
        raise UnreadableEventError(f"an event with the token {token!r}: {error}") from error


def time_at(events: ChangeEvents, index: int) -> ClusterTime:
    """The cluster time of an event. Raises `UnreadableEventError` for bytes without a time."""
    time = events.time(index)
    if time is None:
        raise UnreadableEventError("an event without a cluster time: its bytes are damaged")
    return ClusterTime(*time)
