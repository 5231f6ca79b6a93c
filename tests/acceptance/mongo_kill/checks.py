"""Conditions that arrived records must meet after any kill. Pure functions; one line per fault."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bson import json_util

from tests.acceptance.mongo_kill.workload import History, Place, State
from tests.support.servers.kafka import KafkaRecord


@dataclass(frozen=True, slots=True)
class Arrival:
    """Record of a document."""

    place: Place
    kind: str
    state: State
    event_id: bytes
    topic: str
    partition: int
    offset: int


def arrivals(records: Iterable[KafkaRecord]) -> Iterator[Arrival]:
    """Records of topics `prefix.database.collection`, in their order, without tombstones."""
    for record in records:
        headers = dict(record.headers)
        kind = headers["cdc.kind"].decode()
        if kind == "tombstone" or record.key is None or record.value is None:
            continue
        value = json.loads(record.value)
        collection = value["source"]["collection"]
        after = value["after"]
        state = None if after is None else _document(after)
        identity = json_util.loads(f"[{json.loads(record.key)['id']}]")[0]
        yield Arrival(
            Place(collection, json_util.dumps(identity)),
            kind,
            state,
            headers["cdc.id"],
            record.topic,
            record.partition,
            record.offset,
        )


def _document(text: str) -> State:
    found: dict[str, Any] = json_util.loads(text)
    return found


def broken_histories(
    arrived: Iterable[Arrival], histories: Mapping[Place, History]
) -> Iterator[str]:
    """Without repeats, the events of a document start somewhere in its history, omit nothing, and
    end with its last state. A snapshot event contains the document's state at its position."""
    by_place: defaultdict[Place, list[Arrival]] = defaultdict(list)
    for arrival in without_repeats(arrived):
        by_place[arrival.place].append(arrival)
    for place in by_place.keys() - histories.keys():
        yield f"{place} was never written"
    for place, history in histories.items():
        yield from _broken(place, by_place[place], history.states)


def without_repeats(arrived: Iterable[Arrival]) -> Iterator[Arrival]:
    """Each event once."""
    seen: set[bytes] = set()
    for arrival in arrived:
        if arrival.event_id not in seen:
            seen.add(arrival.event_id)
            yield arrival


def repeats(arrived: Iterable[Arrival], copies: int = 1) -> list[Arrival]:
    """Records of earlier events. Several snapshots may read a document at the same cluster time, so
    only further `read` events are repeats."""
    seen = Counter[bytes]()
    found = []
    for arrival in arrived:
        if seen[arrival.event_id] >= (copies if arrival.kind == "read" else 1):
            found.append(arrival)
        seen[arrival.event_id] += 1
    return found


def _broken(place: Place, arrived: Sequence[Arrival], states: Sequence[State]) -> Iterator[str]:
    if not arrived:
        if states and states[-1] is not None:
            yield f"{place} never arrived"
        return
    first = arrived[0].state
    # After an initial deletion there may have been earlier states without an event.
    begins = [at for at, state in enumerate(states) if state == first]
    faults = [_fault(arrived, states, at) for at in begins]
    if not faults:
        yield f"{place} begins with {arrived[0]}, of which its history knows nothing"
    elif all(faults):
        yield f"{place}: {faults[-1]}"


def _fault(arrived: Sequence[Arrival], states: Sequence[State], at: int) -> str | None:
    """The fault, if the first arrival is the state with this number."""
    for arrival in arrived[1:]:
        at += arrival.kind != "read"
        if at == len(states):
            return f"{arrival} comes behind the last of {len(states)} states"
        if arrival.state != states[at]:
            return f"state {at} is {states[at]}, and {arrival} comes"
    if at != len(states) - 1:
        return f"it ends at state {at} of {len(states)}"
    return None


@dataclass(slots=True)
class Life:
    """Process of the agent. `begins` contains the end of each topic partition before its start."""

    begins: Mapping[tuple[str, int], int]
    broker_kills: int = 0


def repeats_of_lives(
    arrived: Sequence[Arrival], lives: Sequence[Life], copies: int = 1
) -> list[int]:
    """Repeated records of each process, as `repeats` counts them."""
    in_order = sorted(arrived, key=lambda each: (_number(each, lives), each.offset))
    counts = Counter(_number(arrival, lives) for arrival in repeats(in_order, copies))
    return [counts[number] for number in range(len(lives))]


def unbounded(repeated: Sequence[int], lives: Sequence[Life], window_events: int) -> Iterator[str]:
    """A process repeats at most one window at its start, and one after each kill of the broker."""
    for number, (count, life) in enumerate(zip(repeated, lives, strict=True)):
        most = window_events * (1 + life.broker_kills)
        if count > most:
            yield f"process {number} of the agent repeated {count} events, of {most} at most"


def _number(arrival: Arrival, lives: Sequence[Life]) -> int:
    """Number of the process that sent a record."""
    begun = [life.begins[arrival.topic, arrival.partition] <= arrival.offset for life in lives]
    return max(begun.count(True) - 1, 0)
