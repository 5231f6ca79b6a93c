"""Executing the printed commands resolves findings about topics."""

import re
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

from sidecar.check.broker import ask_broker, check_compaction, check_topics
from sidecar.check.check import Finding
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.kafka_acl import SecuredBroker
from tests.support.servers.kafka_programs import run_program

_COMMAND = re.compile(r"`(kafka-[^`]*)`")
NAMES = ("one", "two", "three")


def probe_of(bootstrap: str, topics: Sequence[str], **client: str) -> Any:
    settings = {"bootstrap.servers": bootstrap, **client}
    properties: Any = SimpleNamespace(
        sink="kafka", kafka_producer=settings, topic_creation_enable=False
    )
    return SimpleNamespace(
        config=SimpleNamespace(properties=properties),
        broker=lambda: ask_broker(properties),
        topics=topics,
    )


def follow(broker: KafkaBroker, check: Callable[[], Iterator[Finding]]) -> list[str]:
    """Run the command of each finding until there is none; returns the codes found meanwhile."""
    codes: list[str] = []
    while open_findings := [each for each in check() if each.remedy]:
        assert len(codes) < len(NAMES), open_findings
        (command,) = _COMMAND.findall(open_findings[0].remedy)
        codes.append(open_findings[0].code)
        run_program(broker, command)
    return codes


def test_missing_topic_remedies_work(broker: KafkaBroker, topic_prefix: str) -> None:
    probe = probe_of(broker.bootstrap, [f"{topic_prefix}.{name}" for name in NAMES])
    assert follow(broker, lambda: check_topics(probe)) == ["topics_missing"] * len(NAMES)


def test_compacted_topic_remedies_work(broker: KafkaBroker, topic_prefix: str) -> None:
    topics = [f"{topic_prefix}.{name}" for name in NAMES]
    for topic in topics:
        broker.create_topic(topic, config={"cleanup.policy": "compact"})
    probe = probe_of(broker.bootstrap, topics)
    codes = follow(broker, lambda: check_compaction(probe, topics))
    assert codes == ["topics_compacted"] * len(NAMES)


def test_unwritable_topic_remedies_work(secured_broker: SecuredBroker, topic_prefix: str) -> None:
    topics = [f"{topic_prefix}.{name}" for name in NAMES]
    for topic in topics:
        secured_broker.create_topic(topic)
        run_program(
            secured_broker,
            "kafka-acls.sh --bootstrap-server b:9092 --add --allow-principal User:half "
            f"--operation Describe --topic {topic}",
        )
    login = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "half",
        "sasl.password": "right",
    }
    probe = probe_of(secured_broker.secured, topics, **login)
    codes = follow(secured_broker, lambda: check_topics(probe))
    assert codes == ["topics_not_writable"] * len(NAMES)
