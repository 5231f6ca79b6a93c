"""The produce ceiling of MongoDB's events: the agent's messages sent by a bare loop.

`python -m benches.mongo_ceiling BOOTSTRAP TARGET SECOND INCREMENT PREFIX PARTITIONS COUNT` reads
events once, makes their messages, keeps them in memory and sends them until COUNT are sent: the
same keys, values, headers and partitions, the same settings of the client, and a callback for each.
"""

import gc
import sys

from confluent_kafka import Producer
from pymongo import MongoClient

from benches.ceiling import Acknowledgements, send
from commitlog.mongo import MongoEncoder
from mongo_agent.change_stream.cursor import Client, Scope, StreamCursor, StreamOptions
from mongo_agent.change_stream.position import Opening
from mongo_agent.change_stream.tokens import ClusterTime
from sidecar.delivery import Message
from sidecar.sinks.kafka.client_properties import client_properties

_MESSAGES = 100_000


def main() -> None:
    bootstrap, target, second, increment, prefix, partitions, count = sys.argv[1:]
    opening = Opening(from_time=ClusterTime(int(second), int(increment)))
    messages = messages_of(target, opening, prefix, min(_MESSAGES, int(count)))
    settings = client_properties({"bootstrap.servers": bootstrap})
    producer = Producer({**settings.config, "log_level": "3"})
    acknowledgements = Acknowledgements()
    gc.freeze()
    send(producer, messages, int(partitions), int(count), acknowledgements)
    producer.flush()
    if acknowledgements.failed:
        sys.exit(f"{acknowledgements.failed} messages failed")
    # The observer reads the CPU time of the living process, and ends it.
    print("done", flush=True)
    sys.stdin.read()


def messages_of(target: str, opening: Opening, prefix: str, count: int) -> list[Message]:
    """Of the first events of a stream."""
    encoder = MongoEncoder(topic_prefix=prefix, replica_set="rs0", node_id="bench")
    messages: list[Message] = []
    client: Client = MongoClient(target)
    with client, StreamCursor.open(client, Scope(), [], opening, StreamOptions()) as cursor:
        while len(messages) < count:
            batch = encoder.encode(cursor.read().events)
            messages += batch.messages(0, len(batch))
    return messages[:count]


if __name__ == "__main__":
    main()
