"""What the reader of a stream looks at in raw events, besides making messages of them."""

from collections.abc import Mapping

from bson import Timestamp
from bson.raw_bson import RawBSONDocument

from mongo_agent.change_stream.tokens import ClusterTime, read_token


def token_of(event: bytes) -> Mapping[str, str]:
    """The resume token of an event. Raises ValueError for bytes that are no event."""
    token = RawBSONDocument(event).get("_id")
    if token is None:
        raise ValueError("an event without `_id`: the pipeline takes it away")
    return dict(token)


def time_of(event: bytes) -> ClusterTime:
    """The cluster time of an event. Raises ValueError for bytes that are no event."""
    time = RawBSONDocument(event).get("clusterTime")
    if isinstance(time, Timestamp):
        return ClusterTime(time.time, time.inc)
    return read_token(token_of(event)).time
