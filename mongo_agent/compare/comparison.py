"""A collection as it was read beside what its topic says, key by key. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mongo_agent.change_stream.tokens import ClusterTime
from mongo_agent.compare.document_state import ABSENT, UNKNOWN, DocumentState

SHOWN = 5
"""So many keys of a kind are shown."""


@dataclass(slots=True)
class TopicState:
    """What records say of the documents of one collection, the last one of each counting. What was
    changed behind `since` is `changing`: it may have been read before or after."""

    since: ClusterTime
    states: dict[bytes, bytes] = field(default_factory=dict)
    changing: set[bytes] = field(default_factory=set)

    def hear(self, key: bytes, said: DocumentState) -> None:
        self.states[key] = said.state
        if said.changed_at is not None and said.changed_at > self.since:
            self.changing.add(key)


@dataclass(frozen=True, slots=True)
class CollectionComparison:
    """How many documents were read, and of how many it is known that the topic has the same. Of the
    others the keys: with other content, not in the topic, and only there."""

    collection: str
    documents: int
    equal: int
    unknown: int
    changing: int
    different: tuple[bytes, ...] = ()
    missing: tuple[bytes, ...] = ()
    surplus: tuple[bytes, ...] = ()

    @property
    def is_equal(self) -> bool:
        return not (self.different or self.missing or self.surplus)

    def sentences(self) -> list[str]:
        """What is not equal, with some of the keys."""
        named = (
            ("are another in the topic", self.different),
            ("are not in the topic", self.missing),
            ("are only in the topic", self.surplus),
        )
        return [
            f"{self.collection}: {len(keys)} documents {what}: {_shown(keys)}"
            for what, keys in named
            if keys
        ]


def compare_collection(
    collection: str, read: Mapping[bytes, bytes], topic: TopicState
) -> CollectionComparison:
    """`read` has the digests of documents by the keys of their messages."""
    different, missing = [], []
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
    return CollectionComparison(
        collection,
        len(read),
        equal,
        unknown,
        changing,
        tuple(different),
        tuple(missing),
        tuple(surplus),
    )


def _shown(keys: tuple[bytes, ...]) -> str:
    texts = [key.decode(errors="replace") for key in keys[:SHOWN]]
    return ", ".join(texts) + (", …" if len(keys) > SHOWN else "")
