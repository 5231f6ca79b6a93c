"""Debezium's transformations of its connector's records, for random changes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from bson import CodecOptions
from bson.raw_bson import RawBSONDocument
from pymongo import MongoClient

from mongo_agent.change_stream.options import StreamOptions
from mongo_agent.documents import ClusterTime
from tests.oracle.debezium_mongodb import ours, transformations, typed_documents
from tests.oracle.debezium_mongodb.engines import EmbeddedEngines, PeerRecord
from tests.oracle.debezium_mongodb.workload import END, Workload
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.seeds import draw_seed

STEPS, TYPED_STEPS, OUTBOX_STEPS, RANDOM_OPTIONS = 60, 120, 80, 4
COPIED = (typed_documents.COLLECTION, typed_documents.OUTBOX)
STREAMS: Mapping[str, tuple[str, StreamOptions]] = {
    "plain": ("change_streams", StreamOptions("default")),
    "images": (
        "change_streams_update_full_with_pre_image",
        StreamOptions("updateLookup", "whenAvailable"),
    ),
}


@dataclass(frozen=True)
class TransformedStream:
    """Events of a stream, and the output of Debezium's transformations."""

    events: list[bytes]
    records: Mapping[str, list[PeerRecord]]
    """By transformation: one for each record of the connector, including dropped and rejected
    ones."""


@dataclass(frozen=True)
class Comparison:
    options: Mapping[str, Mapping[str, str]]
    routers: Mapping[str, Mapping[str, str]]
    streams: Mapping[str, TransformedStream]
    copied: list[tuple[str, bytes]]
    """Collections and documents of a snapshot, in its order."""
    copies: Mapping[str, list[PeerRecord]]
    """By transformation: one for each of these documents."""


def compare(directory: Path) -> Comparison:
    """Run Debezium with random changes."""
    seed = draw_seed()
    random = Random(seed)
    options = {
        "default": dict[str, str](),
        "document": {"array.encoding": "document", "field.name.adjustment.mode": "avro"},
    }
    for number in range(RANDOM_OPTIONS):
        options[f"random{number}"] = transformations.extract_document(random)
    routers = {"router": {"collection.field.event.key": "aggregateid"}}
    for number in range(RANDOM_OPTIONS):
        routers[f"router{number}"] = transformations.event_router(random)
    with (
        # Copies are compared by position, and the connector reads without a sort.
        MongoReplicaSet(version="6.0.20", keeps_order=True) as server,
        MongoClient[Any](server.connection_string) as client,
        EmbeddedEngines(directory, program="TransformedRecords") as engines,
    ):
        workload = Workload(client, random)
        workload.prepare(3)
        images = {"enabled": True}
        client.shop.create_collection(
            typed_documents.COLLECTION[1], changeStreamPreAndPostImages=images
        )
        started_at = workload.write_until_heard()
        workload.run(STEPS)
        typed_documents.write(client, random, TYPED_STEPS)
        typed_documents.outbox(client, random, OUTBOX_STEPS)
        workload.end()
        at = ClusterTime(started_at.time, started_at.inc)
        streams = {}
        applied = {}
        for smt, own in {**options, **routers}.items():
            kind = transformations.EXTRACT_DOCUMENT
            applied[f"smt.{smt}.type"] = transformations.EVENT_ROUTER if smt in routers else kind
            applied |= {f"smt.{smt}.{option}": value for option, value in own.items()}
        for name, (mode, stream_options) in STREAMS.items():
            properties = {
                "capture.mode": mode,
                "capture.start.op.time": str(started_at.time << 32 | started_at.inc),
                "snapshot.mode": "no_data",
                "provide.transaction.metadata": "true",
                **applied,
            }
            engines.start(name, server.connection_string, properties)
            events = ours.events_since(at, client, stream_options)
            found = {smt: engines.records(f"{name}/{smt}", is_done) for smt in options}
            is_whole = partial(has_as_many, found["default"])
            for smt in routers:
                found[smt] = engines.records(f"{name}/{smt}", is_whole)
            streams[name] = TransformedStream(events, found)
        included = ",".join("[.]".join(each) for each in COPIED)
        properties = {"snapshot.mode": "initial", "collection.include.list": included, **applied}
        engines.start("copy", server.connection_string, properties)
        copied = [
            (collection, document.raw)
            for database, collection in COPIED
            for document in client.get_database(database)
            .get_collection(collection, codec_options=CodecOptions(RawBSONDocument))
            .find()
        ]
        is_copied = partial(has_as_many, copied)
        copies = {smt: engines.records(f"copy/{smt}", is_copied) for smt in (*options, *routers)}
        # Debezium chooses the order of collections.
        if copies["default"][0].topic.endswith(COPIED[1][1]):
            copied.sort(key=lambda each: each[0] != COPIED[1][1])
        return Comparison(options, routers, streams, copied, copies)


def has_as_many(others: Sequence[object], records: list[PeerRecord]) -> bool:
    return len(records) >= len(others)


def is_done(records: list[PeerRecord]) -> bool:
    return bool(records) and records[-1].topic.endswith(f".{END[0]}.{END[1]}")
