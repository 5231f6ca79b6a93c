"""Comparison of a collection with its topic, key by key. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mongo_agent.documents import ABSENT, UNKNOWN, ClusterTime, DocumentState
from sidecar.check.check import first_names


@dataclass(slots=True)
class TopicState:
    """The latest state of each document in the topic of a collection.

    Documents that changed after `since` are `changing`: the read may precede or follow the change.
    """

    since: ClusterTime
    states: dict[bytes, bytes] = field(default_factory=dict)
    changing: set[bytes] = field(default_factory=set)

    def record(self, key: bytes, state: DocumentState) -> None:
        self.states[key] = state.state
        if state.changed_at is not None and state.changed_at > self.since:
            self.changing.add(key)


@dataclass(frozen=True, slots=True)
class ComparedCollection:
    """Document counts of one collection."""

    collection: str
    documents: int
    equal: int
    without_content: int
    """Documents whose latest event in the topic does not contain the whole document."""
    changing: int
    different: int
    missing: int
    """Documents missing from the topic."""
    surplus: int
    """Documents that exist only in the topic."""
    messages: tuple[str, ...]
    """The differences, each with some keys."""

    @property
    def is_equal(self) -> bool:
        return not self.messages


def compare_collection(
    collection: str, read: Mapping[bytes, bytes], topic: TopicState
) -> ComparedCollection:
    """Compare `read`, document digests by message key, with the topic."""
    different: list[bytes] = []
    missing: list[bytes] = []
    equal = unknown = changing = 0
    for key, content in read.items():
        state = topic.states.get(key, ABSENT)
        if key in topic.changing:
            changing += 1
        elif state == ABSENT:
            missing.append(key)
        elif state == UNKNOWN:
            unknown += 1
        elif state == content:
            equal += 1
        else:
            different.append(key)
    surplus = [
        key
        for key, state in topic.states.items()
        if state != ABSENT and key not in read and key not in topic.changing
    ]
    changing += len(topic.changing - read.keys())
    named = (
        ("differ in the topic", different),
        ("are not in the topic", missing),
        ("are only in the topic", surplus),
    )
    return ComparedCollection(
        collection,
        len(read),
        equal,
        unknown,
        changing,
        len(different),
        len(missing),
        len(surplus),
        tuple(
            f"{collection}: {len(keys)} documents {what}: {_texts(keys)}"
            for what, keys in named
            if keys
        ),
    )


def _texts(keys: Sequence[bytes]) -> str:
    return first_names([key.decode(errors="replace") for key in keys])
