"""Output of `mongo_agent.encoder` for a change stream, and for copied documents."""

from collections.abc import Collection, Iterable
from typing import Any

from bson.raw_bson import RawBSONDocument
from pymongo import MongoClient

from mongo_agent.capture.namespaces import Scope
from mongo_agent.change_stream.cursor import StreamCursor, StreamSource
from mongo_agent.change_stream.options import StreamOptions
from mongo_agent.change_stream.position import Opening
from mongo_agent.documents import ClusterTime
from mongo_agent.encoder import FragmentJoiner, MongoBatch
from mongo_agent.server.commands import Client
from tests.oracle.debezium_mongodb.engines import PeerRecord
from tests.oracle.debezium_mongodb.workload import END
from tests.support.mongodb import encodings
from tests.support.mongodb.encodings import encoder


def events_since(
    time: ClusterTime, client: Client, options: StreamOptions, *, is_split: bool = False
) -> list[bytes]:
    """Raw events from a cluster time to the end of the workload, with split events joined."""
    found: list[bytes] = []
    joiner = FragmentJoiner()
    opening = Opening(from_time=time, is_split=is_split)
    with StreamCursor.open(StreamSource(client, Scope(), [], options), opening) as cursor:
        while True:
            for event in joiner.join(cursor.read().events)[0]:
                found.append(event)
                if _namespace(event) == END:
                    return found


def streamed(
    events: Iterable[bytes],
    prefix: str,
    of: Collection[tuple[str, str]] | None = None,
    **choices: Any,
) -> list[PeerRecord]:
    """Records of the events, or only of those `of` some collections; `choices` as in
    `encodings.encoder`."""
    chosen = [event for event in events if of is None or _namespace(event) in of]
    return records(encoder(topic_prefix=prefix, **choices).encode(chosen))


def _namespace(event: bytes) -> tuple[str, str]:
    namespace = RawBSONDocument(event)["ns"]
    return namespace["db"], namespace.get("coll", "")


def copied(
    connection_string: str, prefix: str, namespaces: Iterable[tuple[str, str]]
) -> list[PeerRecord]:
    """Existing documents, as the snapshot reads them."""
    with MongoClient[Any](connection_string, document_class=RawBSONDocument) as client:
        return [
            record
            for database, name in namespaces
            for record in records(
                encodings.copied(
                    encoder(topic_prefix=prefix),
                    *client[database][name].find(),
                    database=database,
                    collection=name,
                )
            )
        ]


def records(batch: MongoBatch) -> list[PeerRecord]:
    assert batch.failures == []
    return [
        PeerRecord(topic, key, value) for topic, key, value, _, _ in batch.messages(0, len(batch))
    ]
