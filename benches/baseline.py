"""The produce ceiling: a bare loop that publishes the agent's messages and does nothing else.

`python -m benches.baseline BOOTSTRAP PREFIX PARTITIONS COUNT SCHEMA.CQL SEGMENT` encodes the events
of one segment, holds them in memory, and publishes them repeatedly until COUNT are published. Keys,
values, headers, partitions, client settings, allocator settings and the acknowledgement callback
are the agent's.
"""

import gc
import sys
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from commitlog import EventFormat, Schema, SegmentReader
from sidecar.runtime.tune_malloc import tune_malloc
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
    schema = Schema.from_cql(Path(schema_file).read_text())
    messages = events_of(segment, schema, prefix)
    publish(bootstrap, messages, int(partitions), int(count))


def publish(bootstrap: str, messages: list[Any], partitions: int, count: int) -> None:
    """Publish the messages repeatedly until `count` are published, then wait for a signal."""
    tune_malloc()
    settings = client_properties({"bootstrap.servers": bootstrap})
    # Without the client's remarks on a broker that has just started.
    producer = Producer({**settings.config, "log_level": "3"})
    acknowledgements = Acknowledgements()
    # No time for looking at the messages again and again.
    gc.freeze()
    send(producer, messages, partitions, count, acknowledgements)
    producer.flush()
    if acknowledgements.failed:
        sys.exit(f"{acknowledgements.failed} messages failed")
    # The observer reads the CPU time of the living process, and ends it.
    print("done", flush=True)
    sys.stdin.read()


def events_of(segment: str, schema: Schema, prefix: str) -> list[Any]:
    """(topic, key, value, headers, partition hash) of the first events of a segment."""
    event_format = EventFormat(topic_prefix=prefix, cluster="bench", node_id="bench")
    reader = SegmentReader(segment)
    messages: list[Any] = []
    while len(messages) < _MESSAGES:
        batch = reader.read(schema, event_format, complete=True)
        messages += batch.messages(0, len(batch))
        if batch.stop == "end":
            break
    return messages


def send(
    producer: Producer,
    messages: list[Any],
    partitions: int,
    count: int,
    acknowledgements: Acknowledgements,
) -> None:
    produce = producer.produce
    sent = 0
    while sent < count:
        for topic, key, value, headers, partition_hash in messages[: count - sent]:
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
