"""What arrived in a topic, compared with what was sent."""

from collections.abc import Sequence

from sidecar.events import Message
from tests.support.servers.kafka import KafkaRecord


def assert_arrived(
    messages: Sequence[Message], records: Sequence[KafkaRecord], counts: dict[str, int]
) -> None:
    """Exactly these messages, each in its partition, each partition in their order."""
    expected: dict[tuple[str, int], list[tuple[object, ...]]] = {}
    for topic, key, value, headers, partition_hash in messages:
        place = (topic, partition_hash % counts[topic])
        expected.setdefault(place, []).append((key, value, tuple(headers)))
    found: dict[tuple[str, int], list[tuple[object, ...]]] = {}
    for record in records:
        content = (record.key, record.value, record.headers)
        found.setdefault((record.topic, record.partition), []).append(content)
    assert found == expected
