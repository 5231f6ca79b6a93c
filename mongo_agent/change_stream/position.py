"""Positions of streams, and how a stream is opened at a position.

A position contains the resume token, its cluster time and the fingerprint of the pipeline. The
server finds the token of an event only with a pipeline that passes this event. After a change of
the filters the agent therefore opens the stream by time and skips delivered events by token. An
opaque token is tried first, because nothing can be skipped by it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from mongo_agent.change_stream.tokens import Token, read_token, token_from_json, token_to_json
from mongo_agent.documents import ClusterTime
from mongo_agent.server.errors import Failure
from sidecar.errors import OffsetStoreError

_TOKEN, _TIME = "token", "cluster.time"
_FINGERPRINT, CLUSTER = "pipeline.fingerprint", "cluster"
_NAMES = (_TOKEN, _TIME, _FINGERPRINT, CLUSTER)


@dataclass(frozen=True, slots=True)
class StreamPosition:
    """A position: everything up to `token` is delivered.

    With an empty token everything before `time` is. `cluster` names the replica set or sharded
    cluster.
    """

    token: Token
    time: ClusterTime
    fingerprint: str
    cluster: str

    def values(self) -> dict[str, str]:
        """The entries of an offset file (`sidecar.offsets`)."""
        return {
            _TOKEN: token_to_json(self.token),
            _TIME: str(self.time),
            _FINGERPRINT: self.fingerprint,
            CLUSTER: self.cluster,
        }


@dataclass(frozen=True, slots=True)
class Opening:
    """How a stream is opened: after a token, from a time, or from now.

    The agent skips events up to `sent`. With `is_split` the server splits events above 16 MB.
    `batch_size` limits the events of the first reply. With `is_bare` the first event comes without
    look-ups and members, so that the agent can skip it.
    """

    start_after: Token | None = None
    from_time: ClusterTime | None = None
    sent: Token | None = None
    is_split: bool = False
    batch_size: int | None = None
    is_bare: bool = False


def parse_position(values: Mapping[str, str], cluster: str) -> StreamPosition | None:
    """Parse the entries of an offset file; None for an empty one.

    Raises `OffsetStoreError` for another format, and for another cluster than `cluster`.
    """
    if not values:
        return None
    missing = [name for name in _NAMES if name not in values]
    if missing:
        raise OffsetStoreError(
            f"The stored offset has no `{'`, `'.join(missing)}` and does not belong to this agent. "
            "Give the agent a directory of its own in `offset.backing.store.dir`."
        )
    try:
        token = token_from_json(values[_TOKEN])
        second, increment = map(int, values[_TIME].split(":"))
    except ValueError as error:
        raise OffsetStoreError(
            f"The stored offset cannot be read: {error}. Restore an intact copy."
        ) from error
    if not is_same_cluster(values[CLUSTER], cluster):
        raise OffsetStoreError(
            f"The stored offset belongs to the cluster {values[CLUSTER]}, and this is {cluster}. "
            "Correct the connection string, or give the agent another `offset.backing.store.dir`."
        )
    time = ClusterTime(second, increment)
    if is_ordered(token) and read_token(token).time != time:
        raise OffsetStoreError(
            f"The stored offset is damaged: its resume token is of the cluster time "
            f"{read_token(token).time}, and `{_TIME}` is {time}. Restore an intact copy."
        )
    return StreamPosition(token, time, values[_FINGERPRINT], cluster)


def is_same_cluster(one: str, other: str) -> bool:
    """Compare names, and ids (`rs0/5f1e…`) if both have one; reading the id needs a privilege."""
    name, _, identity = one.partition("/")
    other_name, _, other_identity = other.partition("/")
    is_other = bool(identity and other_identity) and identity != other_identity
    return name == other_name and not is_other


def opening(position: StreamPosition | None, fingerprint: str) -> Opening:
    """How to open a stream at a position, with the pipeline of this fingerprint."""
    if position is None:
        return Opening()
    is_alike = position.fingerprint == fingerprint or is_high_water_mark(position.token)
    if is_alike or (position.token and not is_ordered(position.token)):
        return _opening_after(position)
    return _opening_by_time(position)


def reopening(last: Opening, position: StreamPosition | None, failure: Failure) -> Opening | None:
    """How to reopen a stream after a failure; None if reopening does not help.

    `last` is the last opening, `position` the present position.
    """
    if failure is Failure.TOO_LARGE:
        if last.is_split:
            return None
        again = last if position is None else _opening_after(position)
        return Opening(again.start_after, again.from_time, again.sent, is_split=True)
    if failure is Failure.MEMORY_LIMIT:
        again = last if position is None else _opening_after(position)
        has_advanced = (again.start_after, again.from_time) != (last.start_after, last.from_time)
        if last.batch_size == 1 and not has_advanced:
            return None
        return replace(again, is_split=last.is_split, batch_size=1)
    if failure is Failure.FILTERED_TOKEN:
        if position is None or last.from_time is not None:
            return None
        return _opening_by_time(position)
    if failure in (Failure.RESUMABLE, Failure.OTHER):
        if position is None:
            return last
        return replace(_opening_after(position), is_split=last.is_split)
    return None


def _opening_after(position: StreamPosition) -> Opening:
    """`startAfter` accepts every token, also that of an invalidation."""
    if not position.token:
        return Opening(from_time=position.time)
    return Opening(start_after=position.token)


def _opening_by_time(position: StreamPosition) -> Opening:
    """The time is inclusive, so the server returns the events of its oplog entry again."""
    is_comparable = bool(position.token) and is_ordered(position.token)
    return Opening(from_time=position.time, sent=position.token if is_comparable else None)


def is_ordered(token: Token) -> bool:
    """Whether tokens compare as text; those of compatible databases are opaque."""
    try:
        read_token(token)
    except ValueError:
        return False
    return True


def is_high_water_mark(token: Token) -> bool:
    """Whether a token belongs to no event; an opaque token may belong to one."""
    try:
        return read_token(token).is_high_water_mark
    except ValueError:
        return False
