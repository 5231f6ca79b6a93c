"""Where a stream goes on: what is kept, and how it is opened by that.

Kept beside the token are its cluster time and the fingerprint of the pipeline that gave it. A token
of an event is found again only by a pipeline that lets this event through, so behind a change of
the filters the stream is opened by the time and what was sent already is passed over by its token.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from mongo_agent.change_stream.tokens import ClusterTime, read_token
from mongo_agent.server.failures import Failure
from sidecar.errors import OffsetStoreError

Token = Mapping[str, str]

_TOKEN, _TIME = "token", "cluster.time"
_FINGERPRINT, CLUSTER = "pipeline.fingerprint", "cluster"
_NAMES = (_TOKEN, _TIME, _FINGERPRINT, CLUSTER)


@dataclass(frozen=True, slots=True)
class StreamPosition:
    """Everything up to `token` is delivered; without a token, which is an empty one, everything
    that is earlier than `time`. `cluster` names the replica set or sharded cluster that this is
    of."""

    token: Token
    time: ClusterTime
    fingerprint: str
    cluster: str

    def values(self) -> dict[str, str]:
        """As an offset file has it (`sidecar.offsets`)."""
        return {
            _TOKEN: json.dumps(dict(self.token)),
            _TIME: str(self.time),
            _FINGERPRINT: self.fingerprint,
            CLUSTER: self.cluster,
        }


@dataclass(frozen=True, slots=True)
class Opening:
    """How a stream is opened: behind a token, from a time on, or, without either, from now on.

    Events up to `sent` are passed over. With `is_split` events that are too large come in parts.
    """

    start_after: Token | None = None
    from_time: ClusterTime | None = None
    sent: Token | None = None
    is_split: bool = False


def stored_position(values: Mapping[str, str], cluster: str) -> StreamPosition | None:
    """What an offset file says; None for one without a position.

    Raises `OffsetStoreError` for a file of another form, and for a position in another cluster
    than `cluster`: there it would mean another place, or none.
    """
    if not values:
        return None
    missing = [name for name in _NAMES if name not in values]
    if missing:
        raise OffsetStoreError(
            f"The stored position has no `{'`, `'.join(missing)}`: it is not of this agent. "
            "Give the agent a directory of its own in `offset.backing.store.dir`."
        )
    try:
        token = json.loads(values[_TOKEN])
        second, increment = map(int, values[_TIME].split(":"))
        if not isinstance(token, dict):
            raise ValueError("a token is an object")
    except ValueError as error:
        raise OffsetStoreError(f"The stored position cannot be read: {error}.") from error
    if not is_same_cluster(values[CLUSTER], cluster):
        raise OffsetStoreError(
            f"The stored position is of the cluster {values[CLUSTER]}, and this is {cluster}. "
            "Correct the connection string, or give the agent another `offset.backing.store.dir`."
        )
    time = ClusterTime(second, increment)
    return StreamPosition(token, time, values[_FINGERPRINT], cluster)


def is_same_cluster(one: str, other: str) -> bool:
    """By the name, and by the identity behind it (`rs0/5f1e…`) where both have one: whether it may
    be read is a privilege that comes and goes."""
    name, _, identity = one.partition("/")
    other_name, _, other_identity = other.partition("/")
    is_other = bool(identity and other_identity) and identity != other_identity
    return name == other_name and not is_other


def opening(position: StreamPosition | None, fingerprint: str) -> Opening:
    """How to open a stream with the pipeline of this fingerprint."""
    if position is None:
        return Opening()
    if position.fingerprint == fingerprint or is_high_water_mark(position.token):
        return _behind(position)
    return _by_time(position)


def reopening(last: Opening, position: StreamPosition | None, failure: Failure) -> Opening | None:
    """How to open it again after a failure, with what the failure says about the position; None
    where no way of opening helps. `last` is how it was opened, `position` where it has come to."""
    if failure is Failure.TOO_LARGE:
        if last.is_split:
            return None
        again = last if position is None else _behind(position)
        return Opening(again.start_after, again.from_time, again.sent, is_split=True)
    if failure is Failure.FILTERED_TOKEN:
        if position is None or last.from_time is not None:
            return None
        return _by_time(position)
    if failure in (Failure.RESUMABLE, Failure.OTHER):
        if position is None:
            return last
        return replace(_behind(position), is_split=last.is_split)
    return None


def _behind(position: StreamPosition) -> Opening:
    """`startAfter` takes every token, that of an invalidation too."""
    if not position.token:
        return Opening(from_time=position.time)
    return Opening(start_after=position.token)


def _by_time(position: StreamPosition) -> Opening:
    """The time is inclusive, so the events of its entry of the oplog come again."""
    return Opening(from_time=position.time, sent=position.token or None)


def is_high_water_mark(token: Token) -> bool:
    """Whether a token is that of no event. One that says nothing may be of an event."""
    try:
        return read_token(token).is_high_water_mark
    except ValueError:
        return False
