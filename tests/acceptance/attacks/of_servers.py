"""Attacks by servers that an agent queries (schema registry, stores, cloud services, MongoDB), and
by the writer of its signal file."""

import time
from collections.abc import Mapping
from pathlib import Path

import bson
from bson.raw_bson import RawBSONDocument

from tests.acceptance.attacks.over_http import ATTACK_S, Attack
from tests.acceptance.attacks.target import Target
from tests.support.mongodb import wire_faults as faults
from tests.support.mongodb.bson_documents import nested_document
from tests.support.mongodb.proxy import Fault, MongoProxy, Sent, document_of, has_events, message_of
from tests.support.mongodb.server.client import Client
from tests.support.servers.answering import OK, Answering
from tests.support.servers.processes import wait_until

MIB = 1 << 20
_LISTS = b'{"status":"ok","items":[' + b"[]," * (4 * MIB // 3 - 20) + b"1]}"
_SMALL = b'{"status":"ok","x":[' + b"[]," * (250 * 1024 // 3) + b"1]}"
_ENTITIES = b"".join(b'<!ENTITY a%d "%s">' % (n, b"&a%d;" % (n - 1) * 10) for n in range(1, 30))
_NAMES = b",".join(b'{"name":"cdc/error/node-1/%s%d"}' % (b"a" * 3000, n) for n in range(1000))
_JSON: dict[str, bytes] = {
    "4 MiB of empty lists": _LISTS,
    "JSON nested 100,000 deep": b"[" * 100_000,
    "without end": b"",
}
_TEXT = {"16 MiB of one text": b'{"id":1,"x":"' + b"a" * (16 * MIB) + b'"}'}
_XML: dict[str, bytes] = {
    "4 MiB of empty elements": b"<a>" + b"<b/>" * (MIB - 8) + b"</a>",
    "XML nested 200,000 deep": b"<a>" * 200_000,
    "entities that stand for 10^28 letters": b'<!DOCTYPE a [<!ENTITY a0 "a">%s]><a>&a28;</a>'
    % _ENTITIES,
    "without end": b"",
}
_PAGES = {"pages of long names without end": b'{"nextPageToken":"a","items":[%s]}' % _NAMES}
_REGISTRY = {
    f"{part}.converter{name}": value
    for part in ("key", "value")
    for name, value in (
        ("", "io.confluent.connect.avro.AvroConverter"),
        (".schema.registry.url", "{url}"),
    )
}
_PLACE, _LISTED = "remote.commit.log.relocation.dir", "commit.log.error.reprocessing.enabled"
_GCS = {"commit.log.transfer.class": "GCS", _PLACE: "gs://archive/cdc", _LISTED: "true"}
_S3 = {"commit.log.transfer.class": "s3", _PLACE: "s3://archive/cdc", _LISTED: "true"}
_NO_FILE = {"AWS_SHARED_CREDENTIALS_FILE": "/none", "CLOUDSDK_CONFIG": "/none"}
_IMDS = {"AWS_EC2_METADATA_SERVICE_ENDPOINT": "{url}", **_NO_FILE}
_CONTAINER = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": "{url}/a", **_NO_FILE}
_GCE = {"GCE_METADATA_HOST": "{host}", "GCE_METADATA_IP": "{host}", **_NO_FILE}
_KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
Texts = Mapping[str, str]
ASKED: dict[str, tuple[Mapping[str, bytes], Texts, Texts]] = {
    "a schema registry": (_JSON | _TEXT | {"250 KiB of empty lists": _SMALL}, _REGISTRY, {}),
    "Google's store": (_JSON | _TEXT | _PAGES, _GCS, {"STORAGE_EMULATOR_HOST": "{url}"}),
    "Google's metadata service": (_JSON, _GCS, _GCE),
    "S3": (_XML, _S3 | {"storage.s3.endpoint": "{url}"}, _KEYS),
    "Amazon's metadata service": (_JSON, _S3, _IMDS),
    "Amazon's service for containers": (_JSON, _S3, _CONTAINER),
}
"""Answers, and the settings and environment that make the agent query `{url}`."""


def answer(body: bytes) -> tuple[bytes, bytes]:
    """First answer of the server, and its endless repetition; no body means an endless one."""
    head = OK + b"Content-Type: application/json\r\nMetadata-Flavor: Google\r\n"
    if not body:
        return head + b'\r\n{"items":["', b"a" * MIB
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body, b""


def filled(values: Texts, url: str) -> dict[str, str]:
    host = url.removeprefix("http://")
    return {k: v.replace("{url}", url).replace("{host}", host) for k, v in values.items()}


def asked(server: Answering) -> Attack:
    """The agent queries the server by itself."""

    def attack(target: Target) -> None:
        wait_until(lambda: bool(server.requests) or not target.is_running, "a request")
        time.sleep(ATTACK_S)

    return attack


MONGODB_SETTINGS = {
    "connect.max.attempts": "100000",
    "connect.backoff.initial.delay.ms": "100",
    "connect.backoff.max.delay.ms": "100",
    "snapshot.mode": "no_data",
    "signal.enabled.channels": "file",
}


def _nested(message: bytes) -> Sent:
    """Nested as deeply as 15 MiB allow."""
    reply = bson.decode(document_of(message))
    (batch,) = (value for name, value in reply["cursor"].items() if name.endswith("Batch"))
    batch[0]["fullDocument"] = RawBSONDocument(nested_document(1_900_000, is_array=False))
    return Sent(message_of(message, bson.encode(reply)))


def _empty_events(message: bytes) -> Sent:
    """40 MiB of the shortest documents instead of a batch of events."""
    cursor = {"id": bson.Int64(7), "ns": "shop.a", "nextBatch": [{}] * 3_000_000}
    return Sent(message_of(message, bson.encode({"ok": 1.0, "cursor": cursor})))


_SIGNALS = b"[]," * (5 * MIB - 100) + b"1]}"
MONGODB_ATTACKS: dict[str, Fault | bytes] = {
    "a MongoDB server claims 2 GiB for a reply": faults.header(length=faults.LONGEST),
    "a MongoDB server sends a reply byte by byte without end": faults.trickles,
    "a MongoDB server compresses 100 MB of zeros into a reply": faults.compressed_bomb,
    "a MongoDB server claims 2 GiB for an event": faults.length_after(rb"\x030\0", None),
    "a MongoDB server sends a document nested 1,900,000 deep": _nested,
    "a MongoDB server sends a reply of three million empty events": _empty_events,
    "a MongoDB server sends noise": faults.noise(26),
    "signals: 15 MiB of empty lists": b'{"id":"1","data":[' + _SIGNALS + b"\n",
    "signals: extended JSON of 15 MiB": b'{"id":"1","data":"{\\"a\\":[' + _SIGNALS + b'"}\n',
    "signals: JSON nested 1,000,000 deep": b"[" * 1_000_000 + b"\n",
}


def mongodb_attack(
    proxy: MongoProxy, client: Client, signals: Path, fault: Fault | bytes
) -> Attack:
    """A fault alters a reply; bytes are signals."""

    def run(target: Target) -> None:
        wait_until(lambda: not target.is_running or '"ok"' in target.get("/ready"), "a stream")
        if isinstance(fault, bytes):
            signals.write_bytes(fault)
        else:
            proxy.alter(fault, when=has_events)
            client.shop.a.insert_one({"note": "an event"})

        def is_read() -> bool:
            # The agent renames the file, and deletes it with its results.
            left = [*signals.parent.glob(f"{signals.name}*")]
            return not target.is_running or (
                not left if isinstance(fault, bytes) else proxy.hits > 0
            )

        wait_until(is_read, "a reader")
        time.sleep(ATTACK_S)

    return run
