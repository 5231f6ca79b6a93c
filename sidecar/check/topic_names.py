"""Checks topic names: names that Kafka rejects, and topics with several sources. Pure."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sidecar.check.check import Finding, fault, first_names, warning

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class TopicUse:
    """A topic and its source: a table, a collection, or the property that names it."""

    topic: str
    source: str

    def __str__(self) -> str:
        return f"{self.topic} ({self.source})"


def metric_name(topic: str) -> str:
    """Return the name that must be unique: Kafka rejects topics that differ only in `.` and `_`."""
    return topic.replace(".", "_")


def colliding_topics(
    uses: Sequence[TopicUse], existing: Collection[str]
) -> list[tuple[TopicUse, str]]:
    """Pair each topic that Kafka rejects with the existing or earlier topic it collides with."""
    first: dict[str, str] = {}
    for topic in existing:
        first.setdefault(metric_name(topic), topic)
    found = []
    for use in uses:
        other = first.setdefault(metric_name(use.topic), use.topic)
        if other != use.topic and use.topic not in existing:
            found.append((use, other))
    return found


def shared_topics(uses: Sequence[TopicUse]) -> dict[str, list[str]]:
    sources: dict[str, list[str]] = {}
    for use in uses:
        sources.setdefault(use.topic, []).append(use.source)
    return {topic: of for topic, of in sources.items() if len(of) > 1}


def check_collisions(
    uses: Sequence[TopicUse], existing: Collection[str], remedy: str
) -> Iterator[Finding]:
    """`existing` are the broker's topics; empty if the broker does not answer."""
    source_of = {use.topic: str(use) for use in uses}
    found = colliding_topics(uses, existing)
    if found:
        shown = [f"{use} and {source_of.get(other, other)}" for use, other in found]
        yield fault(
            "topics",
            f"Kafka will reject {len(found)} topics. Names that differ only in `.` and `_` "
            f"collide: {first_names(shown, _SHOWN)}.",
            remedy,
            code="topics_collide",
        )


def check_shared(
    uses: Sequence[TopicUse],
    compacted: Callable[[Collection[str]], Collection[str]],
    remedy: str,
    *,
    is_chosen: bool,
) -> Iterator[Finding]:
    """`compacted` returns the topics that are compacted. `is_chosen` is true if a property makes
    sources share a topic."""
    shared = shared_topics(uses)
    if not shared:
        return
    lossy = {topic: shared[topic] for topic in sorted(compacted(shared.keys()))}
    if lossy:
        found = warning if is_chosen else fault
        yield found(
            "topics",
            f"Several sources share a compacted topic, which retains only one of the messages with "
            f"equal keys: {_listed(lossy)}.",
            f"{remedy} Or set cleanup.policy=delete for the topic.",
            code="topics_shared_compacted",
        )
    others = {topic: sources for topic, sources in shared.items() if topic not in lossy}
    if others and not is_chosen:
        yield warning(
            "topics",
            f"Several sources share a topic and may have equal keys: {_listed(others)}.",
            remedy,
            code="topics_shared",
        )


def _listed(shared: Mapping[str, Sequence[str]]) -> str:
    shown = [f"{topic} ({first_names(sources)})" for topic, sources in shared.items()]
    return first_names(shown, _SHOWN)
