"""Stream positions, and how to open a stream at a position.

A position contains the resume token, its cluster time and the fingerprint of the pipeline. The
server finds the event of a token only if the pipeline passes this event. After a filter change the
agent therefore opens the stream by time and skips delivered events by token. It tries an opaque
token first, because it cannot compare such tokens.
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

    If `token` is empty, everything before `time` is delivered. `cluster` identifies the replica set
    or sharded cluster.
    """

    token: Token
    time: ClusterTime
    fingerprint: str
    cluster: str

    def values(self) -> dict[str, str]:
        """Format the entries of an offset file (`sidecar.offsets`)."""
        return {
            _TOKEN: token_to_json(self.token),
            _TIME: str(self.time),
            _FINGERPRINT: self.fingerprint,
            CLUSTER: self.cluster,
        }


@dataclass(frozen=True, slots=True)
class Opening:
    """How to open a stream: after a token, from a time, or from now.

    The agent skips events up to `sent`. With `is_split` the server splits or strips large events.
    `batch_size` limits the events of the first reply. With `is_bare` the server strips the first
    event and looks nothing up for it, so that the agent can skip it.
    """

    start_after: Token | None = None
    from_time: ClusterTime | None = None
    sent: Token | None = None
    is_split: bool = False
    batch_size: int | None = None
    is_bare: bool = False


def parse_position(values: Mapping[str, str], cluster: str) -> StreamPosition:
    """Parse the entries of an offset file.

    Raises `OffsetStoreError` for an invalid format, and for an offset of a different cluster.
    """
    missing = [name for name in _NAMES if name not in values]
    if missing:
        raise OffsetStoreError(
            f"The stored offset has no `{'`, `'.join(missing)}` and does not belong to this agent. "
            "Set `offset.backing.store.dir` to a directory that only this agent uses."
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
            f"The stored offset belongs to the cluster {values[CLUSTER]}, but this is {cluster}. "
            "Correct the connection string, or set a different `offset.backing.store.dir`."
        )
    time = ClusterTime(second, increment)
    if is_ordered(token) and read_token(token).time != time:
        raise OffsetStoreError(
            f"The stored offset is damaged: its resume token has the cluster time "
            f"{read_token(token).time}, but `{_TIME}` is {time}. Restore an intact copy."
        )
    return StreamPosition(token, time, values[_FINGERPRINT], cluster)


def is_same_cluster(one: str, other: str) -> bool:
    """Compare names, and ids (`rs0/5f1e…`) if both are known; reading an id needs a privilege."""
    name, _, identity = one.partition("/")
    other_name, _, other_identity = other.partition("/")
    is_other = bool(identity and other_identity) and identity != other_identity
    return name == other_name and not is_other


def opening(position: StreamPosition, fingerprint: str) -> Opening:
    """Decide how to open a stream at a position, with the pipeline of this fingerprint."""
    is_alike = position.fingerprint == fingerprint or is_high_water_mark(position.token)
    if is_alike or (position.token and not is_ordered(position.token)):
        return _opening_after(position)
    return _opening_by_time(position)


def reopening(last: Opening, position: StreamPosition, failure: Failure) -> Opening | None:
    """Decide how to reopen a stream after a failure; return None if reopening does not help.

    `last` is the previous opening, `position` the current position.
    """
    again = _opening_after(position)
    if failure is Failure.TOO_LARGE:
        return None if last.is_split else replace(again, is_split=True)
    if failure is Failure.MEMORY_LIMIT:
        has_advanced = (again.start_after, again.from_time) != (last.start_after, last.from_time)
        if last.batch_size == 1 and not has_advanced:
            return None
        return replace(again, is_split=last.is_split, batch_size=1)
    if failure is Failure.FILTERED_TOKEN:
        return None if last.from_time is not None else _opening_by_time(position)
    if failure in (Failure.RESUMABLE, Failure.OTHER):
        return resumption(last, position)
    return None


def resumption(last: Opening, position: StreamPosition) -> Opening:
    """Reopen a stream after its position, with the stages of the previous opening."""
    return replace(_opening_after(position), is_split=last.is_split)


def _opening_after(position: StreamPosition) -> Opening:
    """`startAfter` accepts every token, even the token of an invalidation."""
    if not position.token:
        return Opening(from_time=position.time)
    return Opening(start_after=position.token)


def _opening_by_time(position: StreamPosition) -> Opening:
    """The time is inclusive, so the server returns the events at that time again."""
    is_comparable = bool(position.token) and is_ordered(position.token)
    return Opening(from_time=position.time, sent=position.token if is_comparable else None)


def is_ordered(token: Token) -> bool:
    """Whether tokens compare as text; compatible databases return opaque tokens."""
    try:
        read_token(token)
    except ValueError:
        return False
    return True


def is_high_water_mark(token: Token) -> bool:
    """Whether a token belongs to no event; False for opaque tokens, which may belong to events."""
    try:
        return read_token(token).is_high_water_mark
    except ValueError:
        return False
