"""What `mongo_agent.encoder` makes of a change stream, and of documents that are copied."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Literal

from bson.raw_bson import RawBSONDocument
from pymongo import MongoClient

from mongo_agent.capture.scope import Scope
from mongo_agent.change_stream.cursor import Client, StreamCursor
from mongo_agent.change_stream.position import Opening
from mongo_agent.change_stream.settings import StreamOptions
from mongo_agent.documents.cluster_time import ClusterTime
from mongo_agent.encoder import FragmentJoiner, MongoBatch, MongoEncoder
from tests.oracle.debezium_mongodb.engines import PeerRecord
from tests.oracle.debezium_mongodb.workload import END

Layout = Literal["debezium-3", "debezium-2.1"]
DocumentJson = Literal["legacy", "strict", "extended", "relaxed"]


def events_since(
    time: ClusterTime, client: Client, options: StreamOptions, *, is_split: bool = False
) -> list[bytes]:
    """Raw events from a cluster time on, up to the end of the workload; those in parts joined."""
    found: list[bytes] = []
    joiner = FragmentJoiner()
    opening = Opening(from_time=time, is_split=is_split)
    with StreamCursor.open(client, Scope(), [], opening, options) as cursor:
        while True:
            for event in joiner.join(cursor.read().events)[0]:
                found.append(event)
                if _namespace(event) == END:
                    return found


def encoder(prefix: str, document_json: DocumentJson = "legacy") -> MongoEncoder:
    return MongoEncoder(
        topic_prefix=prefix, replica_set="rs0", node_id="agent", document_json=document_json
    )


def streamed(
    events: Iterable[bytes],
    prefix: str,
    document_json: DocumentJson = "legacy",
    of: Collection[tuple[str, str]] | None = None,
) -> list[PeerRecord]:
    """The records of the events, or only of those `of` some collections."""
    chosen = [event for event in events if of is None or _namespace(event) in of]
    return records(encoder(prefix, document_json).encode(chosen))


def with_transactions(
    events: Sequence[bytes], prefix: str, layout: Layout = "debezium-3"
) -> list[PeerRecord]:
    """The records of the events, and where transactions begin and end."""
    encoder = MongoEncoder(
        topic_prefix=prefix,
        replica_set="rs0",
        node_id="agent",
        transaction_topic=f"{prefix}.transaction",
        layout=layout,
    )
    return records(encoder.encode(events))


def with_field_rules(
    events: Sequence[bytes], prefix: str, excluded: Sequence[str], renamed: Sequence[str]
) -> list[PeerRecord]:
    """The records of the events with some fields left out and others renamed."""
    encoder = MongoEncoder(
        topic_prefix=prefix,
        replica_set="rs0",
        node_id="agent",
        excluded_fields=excluded,
        renamed_fields=renamed,
    )
    return records(encoder.encode(events))


def _namespace(event: bytes) -> tuple[str, str]:
    namespace = RawBSONDocument(event)["ns"]
    return namespace["db"], namespace.get("coll", "")


def copied(
    connection_string: str, prefix: str, namespaces: Iterable[tuple[str, str]]
) -> list[PeerRecord]:
    """The documents that there are, as they are read."""
    found: list[PeerRecord] = []
    with MongoClient[Any](connection_string, document_class=RawBSONDocument) as client:
        for database, collection in namespaces:
            documents = [each.raw for each in client[database][collection].find()]
            batch = encoder(prefix).encode_snapshot(
                documents,
                database=database,
                collection=collection,
                cluster_time=(1, 1),
                read_at_ms=0,
                snapshot="true",
            )
            found += records(batch)
    return found


def records(batch: MongoBatch) -> list[PeerRecord]:
    assert batch.failures == []
    return [
        PeerRecord(topic, key, value) for topic, key, value, _, _ in batch.messages(0, len(batch))
    ]
