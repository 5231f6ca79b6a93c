"""Which transaction each event is part of, and when a transaction has come to its end.

Events of a transaction come one behind the other. That it is over is seen by an event of something
else, or by a resume token of a later time, whichever is first. The state is stored with the
position, so that after a restart in the middle the numbers go on and nothing begins twice.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from mongo_agent.change_stream.tokens import ClusterTime

_NOTHING: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Open:
    """A transaction that has begun. `counts` are its events so far by collection."""

    id: str
    time: ClusterTime
    counts: Mapping[str, int] = field(default_factory=lambda: _NOTHING)

    @property
    def events(self) -> int:
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True)
class Part:
    """What an event is told of its transaction: numbers from 1 on."""

    id: str
    total_order: int
    data_collection_order: int


@dataclass(frozen=True, slots=True)
class Step:
    """What one event or token leads to: first `ended` is told, then `begun`, then the event itself
    with its `part`. `open` is the state behind it."""

    open: Open | None
    ended: Open | None = None
    begun: str | None = None
    part: Part | None = None


def after_event(
    state: Open | None, transaction: str | None, collection: str, time: ClusterTime
) -> Step:
    """`transaction` names the one that the event is part of, `collection` is that of the event."""
    ended = None
    if state is not None and state.id != transaction:
        state, ended = None, state
    if transaction is None:
        return Step(None, ended)
    begun = transaction if state is None else None
    state = state or Open(transaction, time)
    counts = {**state.counts, collection: state.counts.get(collection, 0) + 1}
    # A large one has several entries in the oplog, each with a time of its own.
    state = replace(state, counts=MappingProxyType(counts), time=max(state.time, time))
    part = Part(transaction, state.events, counts[collection])
    return Step(state, ended, begun, part)


def after_token(state: Open | None, time: ClusterTime) -> Step:
    """`time` is that of a token that comes after a whole batch of events."""
    if state is None or time <= state.time:
        return Step(state)
    return Step(None, ended=state)
