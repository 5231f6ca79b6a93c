"""Resume tokens and cluster times of raw events."""

import bson

from mongo_agent.change_stream.tokens import Token
from mongo_agent.documents.cluster_time import ClusterTime
from mongo_agent.encoder import ChangeEvents

NO_EVENTS = ChangeEvents()


def token_at(events: ChangeEvents, index: int) -> Token:
    """The resume token of an event. Raises ValueError for bytes without a token."""
    token = events.token(index)
    if token is None:
        raise ValueError("an event without `_id`: the pipeline removes it")
    return bson.decode(token)


def time_at(events: ChangeEvents, index: int) -> ClusterTime:
    """The cluster time of an event. Raises ValueError for bytes without a time."""
    time = events.time(index)
    if time is None:
        raise ValueError("an event without a cluster time")
    return ClusterTime(*time)
