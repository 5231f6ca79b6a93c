"""The produce baseline: a bare loop that publishes the agent's messages and does nothing else.

`python -m benches.baseline BOOTSTRAP PREFIX PARTITIONS COUNT SCHEMA.CQL SEGMENT` encodes the events
of one segment, keeps them in memory, and publishes them repeatedly until it has published COUNT
messages. Keys, values, headers, partitions, client settings, allocator settings and the
acknowledgement callback match the agent's.
"""

import gc
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from confluent_kafka import Producer

from benches.segments import Message, messages
from sidecar.process.tuning import tune_malloc
from sidecar.sinks.kafka.config.client_config import client_properties

_MESSAGES = 200_000
_POLL_EVERY = 1000


class Acknowledgements:
    """Count acknowledged messages."""

    def __init__(self) -> None:
        self.count = 0
        self.failed = 0

    def __call__(self, error: object, _report: object) -> None:
        self.count += 1
        if error is not None:
            self.failed += 1


def main() -> None:
    bootstrap, prefix, partitions, count, schema_file, segment = sys.argv[1:]
    found = islice(messages(Path(schema_file), [Path(segment)], prefix, "bench"), _MESSAGES)
    publish(bootstrap, list(found), int(partitions), int(count))


def publish(bootstrap: str, events: Sequence[Message], partitions: int, count: int) -> None:
    """Publish the messages repeatedly until `count` are published, then wait for a signal."""
    tune_malloc()
    settings = client_properties({"bootstrap.servers": bootstrap})
    # Hides the client's warnings about a broker that has just started.
    producer = Producer({**settings.config, "log_level": "3"})
    acknowledgements = Acknowledgements()
    # Keeps the garbage collector from scanning the messages.
    gc.freeze()
    send(producer, events, partitions, count, acknowledgements)
    producer.flush()
    if acknowledgements.failed:
        sys.exit(f"{acknowledgements.failed} messages failed")
    # The observer reads the CPU time of the running process before killing it.
    sys.stdin.read()


def send(
    producer: Producer,
    events: Sequence[Message],
    partitions: int,
    count: int,
    acknowledgements: Acknowledgements,
) -> None:
    produce = producer.produce
    sent = 0
    while sent < count:
        for topic, key, value, headers, partition_hash in events[: count - sent]:
            while True:
                try:
                    produce(
                        topic,
                        value,
                        key,
                        partition_hash % partitions,
                        acknowledgements,
                        None,
                        0,
                        headers,
                    )
                    break
                except BufferError:
                    producer.poll(0.01)
            sent += 1
            if sent % _POLL_EVERY == 0:
                producer.poll(0)


if __name__ == "__main__":
    main()
