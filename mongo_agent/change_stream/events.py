"""What the reader of a stream looks at in raw events, besides making messages of them."""

from collections.abc import Mapping, Sequence

from bson.raw_bson import RawBSONDocument

from mongo_agent.encoder import MongoEvents, event_times
from mongo_agent.change_stream.tokens import ClusterTime

RawEvents = MongoEvents | Sequence[bytes]
"""As a reply has them, or picked and joined from it."""


def token_of(event: bytes) -> Mapping[str, str]:
    """The resume token of an event. Raises ValueError for bytes that are no event."""
    token = RawBSONDocument(event).get("_id")
    if token is None:
        raise ValueError("an event without `_id`: the pipeline takes it away")
    return dict(token)


def time_of(event: bytes) -> ClusterTime:
    """The cluster time of an event. Raises ValueError for bytes that tell none."""
    times = event_times([event])
    if times is None:
        raise ValueError("an event without a cluster time")
    return ClusterTime(*times[0])
