"""Topics with the events of three replicas: each event three times, in different orders."""

import random
from collections.abc import Sequence
from itertools import islice

from confluent_kafka import Producer

from benches.segments import Message, WrittenSegments, messages
from tests.support.servers.kafka import KafkaBroker

NODES = ("node1", "node2", "node3")
PARTITIONS = 4
_POLL_EVERY = 1000
_FLUSH_S = 600


def events_of_replicas(segments: WrittenSegments, count: int) -> list[Message]:
    """The first `count` events of the segments from each of three nodes, in one random order."""
    found: list[Message] = []
    for node in NODES:
        found += islice(messages(segments.schema, segments.segments, "bench", node), count)
    random.Random(3).shuffle(found)
    return found


def fill_topic(broker: KafkaBroker, topic: str, to_publish: Sequence[Message]) -> None:
    """Publish messages to a new topic."""
    broker.create_topic(topic, PARTITIONS)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 50, "log_level": 3})
    for number, (_, key, value, headers, partition_hash) in enumerate(to_publish):
        while True:
            try:
                partition = partition_hash % PARTITIONS
                producer.produce(topic, value, key, partition, headers=headers)
                break
            except BufferError:
                producer.poll(0.1)
        if number % _POLL_EVERY == 0:
            producer.poll(0)
    if producer.flush(_FLUSH_S):
        raise RuntimeError(f"{topic} could not be filled within {_FLUSH_S} s")
