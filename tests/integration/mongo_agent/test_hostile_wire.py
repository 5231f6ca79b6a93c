"""A server or network that sends invalid data: no change is lost, the order is kept, and `/health`
reports the fault until it ends."""

import base64
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import cramjam
import pytest
import zstandard

from tests.support.mongodb import wire_faults as faults
from tests.support.mongodb.proxy import ZLIB, Compressor, Fault, MongoProxy, Sent, has_events
from tests.support.mongodb.running_agent import Published, RunningAgent
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client
from tests.support.sinks.memory_sink import MemorySink

NOTE = rb"\x02note\0"
"""The string in each document of these tests."""
BATCH = rb"\x04(?:first|next)Batch\0"
EVENT = rb"\x030\0"
"""First document of a batch."""

# The agent cannot read the reply: it reopens the stream until the fault ends.
REPLIES: dict[str, Fault] = {
    "message longer than any": faults.header(length=faults.LONGEST),
    "message shorter than its header": faults.header(length=3),
    "message of a negative length": faults.header(length=-1),
    "message that ends early": faults.header(length=40),
    "unknown operation": faults.header(opcode=1234),
    "answer to another request": faults.answers_another_request,
    "checksum": faults.flags(1),
    "unknown flags": faults.flags(0xFF00),
    "unknown kind of section": faults.kind_of_section,
    "cut in the middle": faults.cut_in_the_middle,
    "cut in the header": faults.cut_in_the_header,
    "half a document": faults.half_a_document,
    "document longer than the message": faults.length_of_document(7),
    "document shorter than the message": faults.length_of_document(-7),
    "document longer than any": faults.length_of_document(None),
    "batch longer than the document": faults.length_after(BATCH, 500),
    "batch shorter than its events": faults.length_after(BATCH, -3),
    "batch longer than any": faults.length_after(BATCH, None),
    "event longer than the batch": faults.length_after(EVENT, 500),
    "event longer than any": faults.length_after(EVENT, None),
    "batch that is no array": faults.type_of(BATCH, 0x03),
    "event that is no document": faults.type_of(EVENT, 0x04),
    "no batch": faults.without(rb"(?:first|next)Batch"),
    "no cursor": faults.without(b"cursor"),
    "noise": faults.noise(26),
    "compressed noise": faults.compressed_noise(2),
    "compressed by noop": faults.compressed_noise(0),
    "compressed by Snappy unasked": faults.compressed_noise(1, b"\x14" + bytes(20)),
    "compressed by zstd unasked": faults.compressed_noise(3),
    "compressed by nothing known": faults.compressed_noise(99),
    "compressed and cut": faults.compressed_and_cut,
    "compressed without content": faults.compressed_without_content,
    "compressed to nothing": faults.compressed_size(lambda size: 0),
    "compressed to more than is allowed": faults.compressed_size(lambda size: faults.LONGEST),
    "compressed bomb": faults.compressed_bomb,
}
# The reply is complete; its false claims have no effect.
CLAIMS: dict[str, Fault] = {
    "more to come": faults.flags(2),
    "compressed": faults.compressed_size(lambda size: size),
    "compressed to less": faults.compressed_size(lambda size: size - 9),
    "compressed to more": faults.compressed_size(lambda size: size + 9),
}
# The agent can read the reply but not an event's bytes: it reads the event once more.
EVENTS: dict[str, Fault] = {
    "string longer than the event": faults.length_after(NOTE, 1000),
    "string longer than any": faults.length_after(NOTE, None),
    "string of a negative length": faults.length_after(NOTE, -100),
    "string that ends early": faults.length_after(NOTE, -2),
    "value of no type": faults.type_of(NOTE, 0x42),
    "value of another type": faults.type_of(NOTE, 0x0C),
    "event longer than its bytes": faults.length_after(rb"\x03fullDocument\0", 9),
    "event without a time": faults.type_of(rb"\x11clusterTime\0", 0x42),
    "event without a token": faults.type_of(rb"\x03_id\0", 0x42),
}

# One of each kind of damage; the others take as long, and run with the slow proofs.
USUAL = {
    "message longer than any",
    "message that ends early",
    "unknown operation",
    "unknown kind of section",
    "cut in the middle",
    "document longer than the message",
    "batch longer than the document",
    "event longer than any",
    "event that is no document",
    "no cursor",
    "compressed noise",
    "compressed bomb",
    "string longer than the event",
    "value of no type",
    "event without a token",
}


def rows(table: dict[str, Fault]) -> list[Any]:
    return [
        pytest.param(fault, id=name, marks=() if name in USUAL else pytest.mark.slow)
        for name, fault in table.items()
    ]


@contextmanager
def streaming(
    directory: Path, connection_string: str, sink: MemorySink | None = None, **properties: Any
) -> Iterator[RunningAgent]:
    unlimited = {"connect.max.attempts": 100_000}
    offsets = directory / "offsets"
    with RunningAgent(
        offsets, connection_string, unlimited, sink=sink, **properties
    ).streaming() as agent:
        yield agent


def write(writer: Client, first: int, last: int) -> None:
    for number in range(first, last + 1):
        writer.shop.a.insert_one({"_id": number, "note": f"document {number}"})


def stream_message(agent: RunningAgent) -> str:
    """Message of the stream; empty while it is ok."""
    health = agent.service.status.health()
    found = next((each for each in health.components if each.name == "stream"), None)
    return "" if found is None or found.ok else found.message


def conditions(agent: RunningAgent) -> list[str]:
    return [each.code for each in agent.service.status.status().conditions]


def is_green(agent: RunningAgent) -> bool:
    return not conditions(agent) and agent.service.status.ready().ok


def assert_everything_once(published: list[Published], last: int) -> None:
    assert [each.id for each in published] == list(range(1, last + 1))
    assert [each.after["note"] for each in published] == [
        f"document {number}" for number in range(1, last + 1)
    ]


@dataclass
class SharedStream:
    """Agent that faces many faults in turn, with its own server."""

    agent: RunningAgent
    proxy: MongoProxy
    writer: Client
    written: int = 0

    def write(self) -> None:
        write(self.writer, self.written + 1, self.written + 3)
        self.written += 3

    def require_all(self) -> None:
        assert_everything_once(self.agent.wait_for(self.written), self.written)
        self.agent.wait_until(lambda: is_green(self.agent), "the end of the fault")


@pytest.fixture(scope="module")
def shared_stream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedStream]:
    with (
        MongoReplicaSet(members=1) as servers,
        Client(servers.connection_string) as writer,
        MongoProxy(servers.members[0]) as proxy,
        streaming(tmp_path_factory.mktemp("shared"), proxy.connection_string) as agent,
    ):
        yield SharedStream(agent, proxy, writer)


@pytest.fixture
def stream(shared_stream: SharedStream) -> Iterator[SharedStream]:
    """Stream with changes before the fault."""
    shared_stream.write()
    shared_stream.require_all()
    yield shared_stream
    shared_stream.proxy.pass_all()


@pytest.mark.parametrize("fault", rows(REPLIES))
def test_unreadable_reply_is_retried(fault: Fault, stream: SharedStream) -> None:
    agent, proxy, before = stream.agent, stream.proxy, stream.written
    proxy.alter(fault, when=has_events)
    stream.write()
    agent.wait_until(lambda: proxy.hits >= 3, "attempts")
    agent.wait_until(lambda: stream_message(agent), "the fault in the health")
    assert "reopens the change stream" in stream_message(agent)
    assert len(agent.published) == before
    proxy.pass_all()
    stream.require_all()


@pytest.mark.parametrize("fault", CLAIMS.values(), ids=CLAIMS)
def test_complete_reply_with_a_false_claim_is_accepted(fault: Fault, stream: SharedStream) -> None:
    stream.proxy.alter(fault)
    for _ in range(2):
        stream.write()
        stream.require_all()
    assert stream.proxy.hits > 1


def test_duplicate_answer_loses_and_repeats_nothing(stream: SharedStream) -> None:
    """The second answer is out of order: it precedes the answer to the next request."""
    stream.proxy.alter(faults.answers_twice, when=has_events, times=1)
    for _ in range(2):
        stream.write()
        stream.require_all()
    assert stream.proxy.hits == 1


@pytest.mark.parametrize("fault", rows(EVENTS))
def test_event_damaged_in_transit_is_refetched(fault: Fault, stream: SharedStream) -> None:
    stream.proxy.alter(fault, when=has_events, times=1)
    stream.write()
    stream.require_all()
    assert stream.proxy.hits == 1
    assert not (stream.agent.offsets / "quarantine").exists()


def test_events_damaged_on_the_server_are_dead_letters(
    tmp_path: Path, shop: Client, proxy: MongoProxy
) -> None:
    """All other events arrive in order, and a restart repeats and loses nothing."""
    sink = MemorySink()
    given: dict[str, Any] = {"event_processing_failure_handling_mode": "quarantine", "sink": sink}
    damaged = {f"document {2 * number}\0".encode(): each for number, each in enumerate(EVENTS, 1)}
    last = 2 * len(damaged) + 1

    def altered(message: bytes) -> Sent:
        name = next(each for note, each in damaged.items() if note in message)
        return EVENTS[name](message)

    with streaming(tmp_path, proxy.connection_string, **given) as agent:
        proxy.alter(altered, when=lambda message: any(note in message for note in damaged))
        for number in range(1, len(damaged) + 1):
            write(shop, 2 * number - 1, 2 * number - 1)
            agent.wait_for(number)
            write(shop, 2 * number, 2 * number)
            wait_for_letters(agent, number)
        write(shop, last, last)
        agent.wait_for(len(damaged) + 1)
        assert [each.id for each in agent.published] == list(range(1, last + 1, 2))
        agent.wait_until(lambda: conditions(agent) == ["event_rejected"], "it in the health")
        for letter, note in zip(quarantined(agent), damaged, strict=True):
            assert note in base64.b64decode(letter["raw_base64"])
            assert "at byte" in letter["reason"]
    with streaming(tmp_path, proxy.connection_string, **given) as agent:
        write(shop, last + 1, last + 1)
        agent.wait_for(len(damaged) + 2)
        assert [each.id for each in agent.published] == [*range(1, last + 1, 2), last + 1]


def wait_for_letters(agent: RunningAgent, count: int) -> None:
    agent.wait_until(lambda: len(quarantined(agent)) == count, f"{count} dead letters")


def quarantined(agent: RunningAgent) -> list[dict[str, Any]]:
    path = agent.offsets / "quarantine" / "refused.ndjson"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


endless = pytest.mark.parametrize("fault", [faults.no_answer, faults.trickles])


@endless
def test_endless_answer_is_read_until_the_timeout(
    fault: Fault, tmp_path: Path, shop: Client, proxy: MongoProxy
) -> None:
    limit: dict[str, Any] = {"mongodb_socket_timeout_ms": 200}
    with streaming(tmp_path, proxy.connection_string, **limit) as agent:
        write(shop, 1, 3)
        agent.wait_for(3)
        proxy.alter(fault)
        write(shop, 4, 6)
        agent.wait_until(lambda: "timed out" in stream_message(agent), "the fault in the health")
        assert len(agent.published) == 3
        proxy.pass_all()
        assert_everything_once(agent.wait_for(6), 6)
        agent.wait_until(lambda: is_green(agent), "the end of the fault")


@endless
def test_endless_answer_without_a_timeout_is_a_stall(
    fault: Fault, tmp_path: Path, shop: Client, proxy: MongoProxy
) -> None:
    """Also if the server ignores the maximum wait for an event."""
    with streaming(tmp_path, proxy.connection_string, stream_stall_warning_ms=300) as agent:
        write(shop, 1, 3)
        agent.wait_for(3)
        proxy.alter(fault)
        write(shop, 4, 6)
        agent.wait_until(lambda: "stream_stalled" in conditions(agent), "the stall")
        assert "has not advanced" in stream_message(agent)
        assert len(agent.published) == 3
        proxy.pass_all()
        proxy.drop_connections()
        assert_everything_once(agent.wait_for(6), 6)
        agent.wait_until(lambda: not stream_message(agent), "the end of the stall")


def test_slow_primary_is_not_a_fault(
    servers: MongoReplicaSet, tmp_path: Path, shop: Client, proxy: MongoProxy
) -> None:
    """Each command takes longer than the agent's wait for an event."""
    slow = {"failCommands": ["getMore", "aggregate"], "blockConnection": True, "blockTimeMS": 300}
    with (
        streaming(tmp_path, proxy.connection_string, cursor_max_await_time_ms=20) as agent,
        Client(f"mongodb://{servers.members[0]}/?directConnection=true") as direct,
    ):
        direct.admin.command("configureFailPoint", "failCommand", mode="alwaysOn", data=slow)
        write(shop, 1, 6)
        assert_everything_once(agent.wait_for(6), 6)
        assert is_green(agent)
        direct.admin.command("configureFailPoint", "failCommand", mode="off")


SNAPSHOT_REPLIES = (
    "answer to another request",
    "cut in the middle",
    "half a document",
    "document longer than any",
    "batch longer than the document",
    "event longer than any",
    "event that is no document",
    "no cursor",
    "noise",
    "compressed noise",
)


def test_snapshot_retries_a_damaged_reply(tmp_path: Path, shop: Client, proxy: MongoProxy) -> None:
    write(shop, 1, 6)

    def alter(fault: Fault) -> None:
        proxy.alter(fault, commands=["find"], when=lambda reply: b"document 1" in reply)

    alter(REPLIES["noise"])
    with streaming(tmp_path, proxy.connection_string, snapshot_mode="initial") as agent:
        agent.wait_until(lambda: "snapshot_blocked" in conditions(agent), "the fault")
        for name in SNAPSHOT_REPLIES:
            alter(REPLIES[name])
            agent.wait_until(lambda: proxy.hits >= 2, f"attempts: {name}")
            assert not agent.published
        proxy.pass_all()
        assert_everything_once(agent.wait_for(6), 6)
        agent.wait_until(lambda: is_green(agent), "the end of the fault")


@pytest.mark.parametrize("times", [1, None], ids=["once", "always"])
def test_snapshot_retries_a_damaged_document(
    times: int | None, tmp_path: Path, shop: Client, proxy: MongoProxy
) -> None:
    """A document that is damaged on the server becomes a dead letter."""
    write(shop, 1, 6)
    fault = faults.length_after(NOTE, 1000)
    proxy.alter(fault, commands=["find"], times=times, when=lambda reply: b"document 1" in reply)
    given: dict[str, Any] = {
        "snapshot_mode": "initial",
        "event_processing_failure_handling_mode": "quarantine",
    }
    with streaming(tmp_path, proxy.connection_string, **given) as agent:
        if times == 1:
            assert_everything_once(agent.wait_for(6), 6)
            agent.wait_until(lambda: is_green(agent), "the end of the fault")
        else:
            assert [each.id for each in agent.wait_for(5)] == [2, 3, 4, 5, 6]
            (letter,) = quarantined(agent)
            assert b"document 1" in base64.b64decode(letter["raw_base64"])


@pytest.mark.parametrize(
    ("command", "name"), [("hello", "noise"), ("buildInfo", "document longer than any")]
)
def test_start_waits_for_complete_replies(
    command: str, name: str, tmp_path: Path, shop: Client, proxy: MongoProxy
) -> None:
    proxy.alter(REPLIES[name], commands=[command])
    properties = {"connect.max.attempts": 100_000, "mongodb.server.selection.timeout.ms": 300}
    with RunningAgent(tmp_path / "offsets", proxy.connection_string, properties) as agent:
        agent.wait_until(lambda: conditions(agent) == ["start_blocked"], "the fault in the health")
        proxy.pass_all()
        agent.wait_until_streaming()
        write(shop, 1, 3)
        assert_everything_once(agent.wait_for(3), 3)


SNAPPY = Compressor(
    "snappy",
    1,
    lambda data: bytes(cramjam.snappy.compress_raw(data)),
    lambda data: bytes(cramjam.snappy.decompress_raw(data)),
)
ZSTD = Compressor("zstd", 3, zstandard.compress, zstandard.decompress)


class BoundedDecompressor:
    """Same interface as in `backports.zstd`."""

    def __init__(self) -> None:
        self._object = zstandard.ZstdDecompressor().decompressobj()

    def decompress(self, data: bytes, most: int) -> bytes:
        found = self._object.decompress(bytes(data))
        return found[:most]

    @property
    def eof(self) -> bool:
        return self._object.eof

    @property
    def unused_data(self) -> bytes:
        return self._object.unused_data


@pytest.fixture
def compression_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Optional packages of the driver, built from the packages of the tests."""
    snappy: Any = ModuleType("snappy")
    snappy.compress, snappy.uncompress = SNAPPY.pack, SNAPPY.unpack
    backports: Any = ModuleType("backports")
    backports.zstd = SimpleNamespace(
        compress=zstandard.compress, ZstdDecompressor=BoundedDecompressor
    )
    monkeypatch.setitem(sys.modules, "snappy", snappy)
    monkeypatch.setitem(sys.modules, "backports", backports)


@pytest.mark.parametrize("compressor", [ZLIB, SNAPPY, ZSTD], ids=lambda each: each.name)
@pytest.mark.usefixtures("compression_packages")
def test_agent_works_with_compression(
    compressor: Compressor, servers: MongoReplicaSet, tmp_path: Path, shop: Client
) -> None:
    write(shop, 1, 3)
    with (
        MongoProxy(servers.members[0], compressor=compressor) as proxy,
        streaming(tmp_path, proxy.connection_string, snapshot_mode="initial") as agent,
    ):
        agent.wait_for(3)
        write(shop, 4, 6)
        assert_everything_once(agent.wait_for(6), 6)
        assert proxy.compressed_requests > 3
        agent.wait_until(lambda: is_green(agent), "a green health")
