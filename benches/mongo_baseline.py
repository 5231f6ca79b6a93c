"""The produce baseline for MongoDB events: a bare loop that publishes the agent's messages.

`python -m benches.mongo_baseline BOOTSTRAP TARGET SECOND INCREMENT PREFIX PARTITIONS COUNT` reads
events once, encodes them, keeps the messages in memory and publishes them repeatedly until it has
published COUNT. Keys, values, headers, partitions and client settings match the agent's.
"""

import sys

from pymongo import MongoClient

from benches.baseline import publish
from mongo_agent.capture.namespaces import Scope
from mongo_agent.change_stream.cursor import StreamCursor, StreamSource
from mongo_agent.change_stream.options import StreamOptions
from mongo_agent.change_stream.position import Opening
from mongo_agent.documents import ClusterTime
from mongo_agent.encoder import MongoEncoder
from mongo_agent.server.commands import Client
from sidecar.events import Message

_MESSAGES = 100_000


def main() -> None:
    bootstrap, target, second, increment, prefix, partitions, count = sys.argv[1:]
    opening = Opening(from_time=ClusterTime(int(second), int(increment)))
    messages = messages_of(target, opening, prefix, min(_MESSAGES, int(count)))
    publish(bootstrap, messages, int(partitions), int(count))


def messages_of(target: str, opening: Opening, prefix: str, count: int) -> list[Message]:
    """Encode the first events of a stream as messages."""
    encoder = MongoEncoder(topic_prefix=prefix, replica_set="rs0", node_id="bench")
    messages: list[Message] = []
    client: Client = MongoClient(target)
    source = StreamSource(client, Scope(), [], StreamOptions())
    with client, StreamCursor.open(source, opening) as cursor:
        while len(messages) < count:
            batch = encoder.encode(cursor.read().events)
            messages += batch.messages(0, len(batch))
    return messages[:count]


if __name__ == "__main__":
    main()
