"""Topics that Kafka rejects, and topics of several sources."""

from hypothesis import given
from hypothesis import strategies as st

from sidecar.check.check import Level
from sidecar.check.topic_names import (
    TopicUse,
    check_collisions,
    check_shared,
    colliding_topics,
    shared_topics,
)

TOPICS = st.lists(st.text("a._-", min_size=1, max_size=4), max_size=8)


def uses_of(topics: list[str]) -> list[TopicUse]:
    return [TopicUse(topic, f"source {number}") for number, topic in enumerate(topics)]


def created(topics: list[str], existing: list[str]) -> set[str]:
    """The topics after their creation, by the rule of Kafka's `Topic.hasCollision`."""
    there = set(existing)
    for topic in topics:
        if all(topic.replace(".", "_") != each.replace(".", "_") for each in there):
            there.add(topic)
    return there


@given(TOPICS, TOPICS)
def test_every_topic_that_kafka_rejects_is_reported(topics: list[str], existing: list[str]) -> None:
    there = created(topics, existing)
    rejected = {use.topic for use, _ in colliding_topics(uses_of(topics), existing)}
    assert rejected == set(topics) - there
    findings = list(check_collisions(uses_of(topics), existing, "Rename one."))
    assert bool(findings) == bool(rejected)
    for finding in findings:
        assert (finding.level, finding.code) == (Level.FAULT, "topics_collide")


@given(TOPICS, st.sets(st.text("a._-", min_size=1, max_size=4)), st.booleans())
def test_every_shared_topic_is_reported(
    topics: list[str], with_compaction: set[str], is_chosen: bool
) -> None:
    uses = uses_of(topics)
    shared = {topic for topic in topics if topics.count(topic) > 1}
    assert shared_topics(uses).keys() == shared
    found = check_shared(
        uses, lambda asked: with_compaction & set(asked), "Rename one.", is_chosen=is_chosen
    )
    levels = {finding.code: finding.level for finding in found}
    compacted = Level.WARNING if is_chosen else Level.FAULT
    expected = {"topics_shared_compacted": compacted} if shared & with_compaction else {}
    if shared - with_compaction and not is_chosen:
        expected["topics_shared"] = Level.WARNING
    assert levels == expected


def test_collision_finding_lists_topics_and_sources() -> None:
    uses = [TopicUse("cdc.a_b.c", "a_b.c"), TopicUse("cdc.a.b_c", "a.b_c")]
    (found,) = check_collisions(uses, [], "Rename one.")
    assert "cdc.a.b_c (a.b_c) and cdc.a_b.c (a_b.c)" in found.message
    (found,) = check_collisions(uses[:1], ["cdc_a.b.c"], "Rename one.")
    assert "cdc.a_b.c (a_b.c) and cdc_a.b.c" in found.message
