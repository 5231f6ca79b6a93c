"""Attacks of a MongoDB server that the agent reads, and of one who writes its file of signals."""

import time
from pathlib import Path

import bson
from bson.raw_bson import RawBSONDocument

from tests.acceptance.attacks.of_servers import MIB
from tests.acceptance.attacks.over_http import ATTACK_S, Attack
from tests.acceptance.attacks.target import Target
from tests.support.mongodb import wire_faults as faults
from tests.support.mongodb.bson_documents import nested_document
from tests.support.mongodb.proxy import Fault, MongoProxy, Sent, document_of, has_events, message_of
from tests.support.mongodb.server.client import Client
from tests.support.servers.processes import wait_until

SETTINGS = {
    "connect.max.attempts": "100000",
    "connect.backoff.initial.delay.ms": "100",
    "connect.backoff.max.delay.ms": "100",
    "snapshot.mode": "no_data",
    "signal.enabled.channels": "file",
}


def _nested(message: bytes) -> Sent:
    """As 15 MiB allow."""
    reply = bson.decode(document_of(message))
    (batch,) = (value for name, value in reply["cursor"].items() if name.endswith("Batch"))
    batch[0]["fullDocument"] = RawBSONDocument(nested_document(1_900_000, is_array=False))
    return Sent(message_of(message, bson.encode(reply)))


def _empty_events(message: bytes) -> Sent:
    """40 MiB of the shortest documents in place of a batch of events."""
    cursor = {"id": bson.Int64(7), "ns": "shop.a", "nextBatch": [{}] * 3_000_000}
    return Sent(message_of(message, bson.encode({"ok": 1.0, "cursor": cursor})))


_LISTS = b"[]," * (5 * MIB - 100) + b"1]}"
ATTACKS: dict[str, Fault | bytes] = {
    "a MongoDB server claims 2 GiB for a reply": faults.header(length=faults.LONGEST),
    "a MongoDB server sends a reply byte by byte without end": faults.trickles,
    "a MongoDB server compresses 100 MB of zeros into a reply": faults.compressed_bomb,
    "a MongoDB server claims 2 GiB for an event": faults.length_after(rb"\x030\0", None),
    "a MongoDB server sends a document nested 1,900,000 deep": _nested,
    "a MongoDB server sends a reply of three million empty events": _empty_events,
    "a MongoDB server sends noise": faults.noise(26),
    "signals: 15 MiB of empty lists": b'{"id":"1","data":[' + _LISTS + b"\n",
    "signals: extended JSON of 15 MiB": b'{"id":"1","data":"{\\"a\\":[' + _LISTS + b'"}\n',
    "signals: JSON nested 1,000,000 deep": b"[" * 1_000_000 + b"\n",
}


def attack(proxy: MongoProxy, client: Client, signals: Path, fault: Fault | bytes) -> Attack:
    """A fault is one of a reply; bytes are signals."""

    def run(target: Target) -> None:
        wait_until(lambda: not target.is_alive or '"ok"' in target.get("/ready"), "a stream")
        if isinstance(fault, bytes):
            signals.write_bytes(fault)
        else:
            proxy.alter(fault, when=has_events)
            client.shop.a.insert_one({"note": "an event"})

        def is_read() -> bool:
            # The agent renames the file, and deletes it with its results.
            left = [*signals.parent.glob(f"{signals.name}*")]
            return not target.is_alive or (not left if isinstance(fault, bytes) else proxy.hits > 0)

        wait_until(is_read, "a reader")
        time.sleep(ATTACK_S)

    return run
