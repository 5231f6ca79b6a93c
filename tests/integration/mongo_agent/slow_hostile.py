"""False sizes, the largest documents and transactions: nothing is lost, and the agent's memory is
bounded.

`make mongo-faults` prints the figures. The agent is a separate process; the bound of its resident
memory (VmHWM) follows from its settings.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.mongodb import wire_faults as faults
from tests.support.mongodb.proxy import Fault, MongoProxy, has_events
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client
from tests.support.servers.agent_process import AgentProcess
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.processes import wait_until

pytestmark = pytest.mark.servers

MIB = 1 << 20
DEADLINE_S = 900
LARGE_BYTES = int(15.9 * MIB)
LARGE_DOCUMENTS = 12
WRITES = 100_000
LAST = WRITES - 1
WINDOW_BYTES = 16 * MIB
"""`inflight.max.bytes`, the default."""
REPLY_BYTES = 16 * MIB
READ_AHEAD = 4
"""Replies at a time: one arriving, one being encoded, two in the queue of the reader."""


@pytest.fixture
def replica_set() -> Iterator[MongoReplicaSet]:
    with MongoReplicaSet(noop_interval_s=1) as started:
        yield started


@pytest.fixture
def client(replica_set: MongoReplicaSet) -> Iterator[Client]:
    # The server answers no other request while it builds the events of a large transaction.
    patient: dict[str, Any] = {"connectTimeoutMS": 300_000, "heartbeatFrequencyMS": 60_000}
    with Client(replica_set.connection_string, **patient) as connected:
        yield connected


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[KafkaBroker]:
    with KafkaBroker(tmp_path / "kafka", heap_mib=512) as started:
        yield started


def agent_of(tmp_path: Path, servers: MongoReplicaSet, properties: dict[str, Any]) -> AgentProcess:
    offsets = tmp_path / "offsets"
    offsets.mkdir()
    given = {
        "topic.prefix": "p",
        "mongodb.connection.string": servers.connection_string,
        "offset.backing.store.dir": offsets,
        "snapshot.mode": "no_data",
        "inflight.max.bytes": WINDOW_BYTES,
        **properties,
    }
    return AgentProcess("mongo-agent", tmp_path / "agent", given)


def launch(agent: AgentProcess) -> int:
    """Start the agent and wait for its stream; returns its peak memory so far in bytes."""
    agent.launch()
    agent.wait_until(
        lambda: (agent.ask("/ready") or {}).get("status") == "ok", "a stream", DEADLINE_S
    )
    return peak_bytes(agent)


def peak_bytes(agent: AgentProcess) -> int:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{agent.pid}/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


def metric(agent: AgentProcess, name: str) -> int:
    found = re.search(rf"^{re.escape(name)} (\S+)".encode(), agent.get("/metrics"), re.M)
    return int(float(found[1])) if found else 0


def acknowledged(agent: AgentProcess) -> int:
    return metric(agent, "cdc_events_acknowledged_total")


def require_bound(what: str, peak: int, begin: int, bound: int) -> None:
    print(
        f"{what}: peak {peak / MIB:.0f} MiB, {begin / MIB:.0f} MiB before, bound {bound / MIB:.0f}"
    )
    assert peak <= bound


FALSE_SIZES: dict[str, Fault] = {
    "message longer than any": faults.header(length=faults.LONGEST),
    "message that never ends": faults.trickles,
    "document longer than any": faults.length_of_document(None),
    "event longer than any": faults.length_after(rb"\x030\0", None),
    "compressed to more than is allowed": faults.compressed_size(lambda size: faults.LONGEST),
    "compressed bomb": faults.compressed_bomb,
}
MESSAGE_BYTES = 48_000_000
"""`maxMessageSizeBytes` of a server."""


def test_false_sizes_take_bounded_memory(
    tmp_path: Path, replica_set: MongoReplicaSet, client: Client
) -> None:
    """A reply takes at most the maximum message size and one copy; the next reply takes no more."""
    path = tmp_path / "published.ndjson"
    limits: dict[str, Any] = {"cursor.max.await.time.ms": 20, "mongodb.socket.timeout.ms": 500}
    limits |= {"connect.max.attempts": 100_000}
    backoff = {"connect.backoff.initial.delay.ms": 20, "connect.backoff.max.delay.ms": 100}
    with MongoProxy(replica_set.members[0]) as proxy:
        given = {**limits, **backoff, "sink": "file", "file.path": path}
        given["mongodb.connection.string"] = proxy.connection_string
        agent = agent_of(tmp_path, replica_set, given)
        with agent:
            begin = launch(agent)
            for number, (name, fault) in enumerate(FALSE_SIZES.items()):
                proxy.alter(fault, when=has_events)
                client.shop.a.insert_one({"_id": number})
                agent.wait_until(partial(has_hits, proxy, 5), f"attempts: {name}", DEADLINE_S)
                proxy.pass_all()
                wait_for_messages(agent, number + 1)
            agent.wait_until(lambda: is_green(agent), "a green status", DEADLINE_S)
            peak = peak_bytes(agent)
            agent.stop()
    assert [line["key"]["id"] for line in lines(path)] == list(map(str, range(len(FALSE_SIZES))))
    require_bound("false sizes", peak, begin, begin + 2 * MESSAGE_BYTES + WINDOW_BYTES)


def has_hits(proxy: MongoProxy, count: int) -> bool:
    return proxy.hits >= count


def is_green(agent: AgentProcess) -> bool:
    return (agent.ask("/health") or {}).get("status") == "ok"


def text_of(number: int, version: int) -> str:
    return f"{number} {version} ".ljust(LARGE_BYTES, "xyz"[version])


def write_large(client: Client) -> None:
    client.shop.create_collection("a", changeStreamPreAndPostImages={"enabled": True})
    for number in range(LARGE_DOCUMENTS):
        client.shop.a.insert_one({"_id": number, "text": text_of(number, 0)})
        client.shop.a.update_one({"_id": number}, {"$set": {"text": text_of(number, 1)}})
    client.shop.a.insert_one({"_id": "end"})


LARGE = {
    "sink": "file",
    "capture.mode": "change_streams_update_full_with_pre_image",
    "capture.mode.full.update.type": "post_image",
}


def lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open() as file:
        for line in file:
            yield json.loads(line)


def digest(document: str | None) -> str | None:
    if document is None:
        return None
    return hashlib.sha256(json.loads(document)["text"].encode()).hexdigest()


def wait_for_messages(agent: AgentProcess, count: int) -> None:
    agent.wait_until(lambda: acknowledged(agent) >= count, f"{count} messages", DEADLINE_S)


def test_largest_documents_with_images_take_bounded_memory(
    tmp_path: Path, replica_set: MongoReplicaSet, client: Client
) -> None:
    """An update contains three images: before, after and the updated field; the server splits the
    event. The agent holds the events of `READ_AHEAD` replies, and at most one event more than the
    window. Each event exists as BSON and as JSON; the joiner and the sink hold one more copy."""
    path = tmp_path / "published.ndjson"
    agent = agent_of(tmp_path, replica_set, {**LARGE, "file.path": path})
    with agent:
        begin = launch(agent)
        write_large(client)
        wait_for_messages(agent, 2 * LARGE_DOCUMENTS + 1)
        peak = peak_bytes(agent)
        agent.stop()
    expected = []
    for number in range(LARGE_DOCUMENTS):
        old, new = (
            hashlib.sha256(text_of(number, version).encode()).hexdigest() for version in (0, 1)
        )
        expected += [(None, old), (old, new)]
    found = [line["value"] for line in lines(path)]
    assert [(digest(each["before"]), digest(each["after"])) for each in found[:-1]] == expected
    event = 3 * LARGE_BYTES
    bound = begin + 2 * event * (READ_AHEAD + 1) + 2 * event + WINDOW_BYTES
    require_bound("split events", peak, begin, bound)


@pytest.mark.parametrize("version", ["5.0.31", "7.0.14"])
def test_largest_documents_are_skipped_if_configured(tmp_path: Path, version: str) -> None:
    path = tmp_path / "published.ndjson"
    mode = {"cursor.oversize.handling.mode": "skip"}
    capture = {"capture.mode": "change_streams"} if version < "6" else {}
    with (
        MongoReplicaSet(version=version, noop_interval_s=1) as servers,
        Client(servers.connection_string) as client,
    ):
        agent = agent_of(tmp_path, servers, {**LARGE, **mode, **capture, "file.path": path})
        with agent:
            launch(agent)
            if version < "6":
                client.shop.a.insert_one({"_id": 0, "text": text_of(0, 0)})
                client.shop.a.insert_one({"_id": "end"})
            else:
                write_large(client)
            count = 2 if version < "6" else LARGE_DOCUMENTS + 1
            wait_for_messages(agent, count)
            skipped = metric(agent, 'cdc_skipped_events_total{reason="too large"}')
            agent.stop()
    assert [line["value"]["op"] for line in lines(path)] == ["c"] * count
    assert skipped == (0 if version < "6" else LARGE_DOCUMENTS)


def test_largest_documents_end_the_agent_if_configured(
    tmp_path: Path, replica_set: MongoReplicaSet, client: Client
) -> None:
    mode = {"cursor.oversize.handling.mode": "fail", "file.path": tmp_path / "published.ndjson"}
    agent = agent_of(tmp_path, replica_set, {**LARGE, **mode})
    with agent:
        launch(agent)
        write_large(client)
        assert agent.wait_for_end(DEADLINE_S) == 1
        assert "cursor.oversize.handling.mode=split" in agent.log_tail()


def kafka(broker: KafkaBroker, **properties: object) -> dict[str, Any]:
    return {
        "sink": "kafka",
        "topic.creation.enable": "true",
        "kafka.producer.bootstrap.servers": broker.bootstrap,
        **{name.replace("_", "."): value for name, value in properties.items()},
    }


def test_largest_documents_are_dead_letters_of_kafka(
    tmp_path: Path, replica_set: MongoReplicaSet, client: Client, broker: KafkaBroker
) -> None:
    """Kafka's default limit is 1 MB. The agent delivers the small event after the large ones."""
    dead = {"event.processing.failure.handling.mode": "quarantine"}
    agent = agent_of(tmp_path, replica_set, {**LARGE, **kafka(broker), **dead})
    with agent:
        begin = launch(agent)
        write_large(client)
        wait_for_messages(agent, 1)
        peak = peak_bytes(agent)
        agent.stop()
    assert [json.loads(each.key or b"")["id"] for each in broker.consume_all("p.shop.a")] == [
        '"end"'
    ]
    kept = [*lines(tmp_path / "offsets" / "quarantine" / "refused.ndjson")]
    assert len(kept) == 2 * LARGE_DOCUMENTS
    event = 3 * LARGE_BYTES
    # A dead letter contains one more copy of the event, as JSON in JSON.
    bound = begin + 2 * event * (READ_AHEAD + 1) + 4 * event + WINDOW_BYTES
    require_bound("dead letters", peak, begin, bound)


def write_transaction(client: Client) -> None:
    with client.start_session() as session, session.start_transaction():
        for first in range(0, WRITES, 1000):
            batch = [{"_id": n, "text": "x" * 100} for n in range(first, first + 1000)]
            client.shop.a.insert_many(batch, session=session)


TRANSACTION = {
    "provide.transaction.metadata": "true",
    "max.batch.size": 1000,
    # Same setting as the test's client.
    "mongodb.connect.timeout.ms": 300_000,
    "mongodb.heartbeat.frequency.ms": 60_000,
}


def transaction_bound(begin: int) -> int:
    """Replies as BSON and JSON, the window, and Kafka's client with copies of the window."""
    return begin + 2 * READ_AHEAD * REPLY_BYTES + 3 * WINDOW_BYTES


def kill_in_the_middle(agent: AgentProcess, client: Client) -> int:
    """Send SIGKILL while part of the transaction is delivered; returns the peak memory."""
    write_transaction(client)
    agent.wait_until(lambda: acknowledged(agent) > WRITES // 10, "a part of it", DEADLINE_S)
    peak, count = peak_bytes(agent), acknowledged(agent)
    agent.kill()
    print(f"killed after {count} of {WRITES} messages")
    assert count < WRITES
    return peak


def test_large_transaction_survives_kill_with_file_offsets(
    tmp_path: Path, replica_set: MongoReplicaSet, client: Client
) -> None:
    path = tmp_path / "published.ndjson"
    slow = {"inflight.max.events": 500, "offset.flush.interval.ms": 0}
    properties = {**TRANSACTION, **slow, "sink": "file", "file.path": path}
    agent = agent_of(tmp_path, replica_set, properties)
    with agent:
        begin = launch(agent)
        first_peak = kill_in_the_middle(agent, client)
        launch(agent)
        last = client.shop.a.insert_one({"_id": WRITES}).inserted_id
        agent.wait_until(lambda: f'{{"id":"{last}"}}' in tail(path), "the end", DEADLINE_S)
        peak = max(first_peak, peak_bytes(agent))
        agent.stop()
    require_transaction([line for line in lines(path) if line["topic"] == "p.shop.a"], peak, begin)


def tail(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 4096))
        return file.read().decode(errors="replace")


def require_transaction(found: list[dict[str, Any]], peak: int, begin: int) -> None:
    ids = [int(line["key"]["id"]) for line in found]
    repeats = len(ids) - len(set(ids))
    print(f"transaction: {len(ids)} messages, {repeats} repeats")
    assert list(dict.fromkeys(ids)) == list(range(WRITES + 1))
    orders = {
        int(line["key"]["id"]): line["value"]["transaction"]["total_order"]
        for line in found
        if line["value"]["transaction"] is not None
    }
    assert orders == {number: number + 1 for number in range(WRITES)}
    require_bound("transaction", peak, begin, transaction_bound(begin))


def test_large_transaction_survives_kill_with_kafka_offsets(
    tmp_path: Path, replica_set: MongoReplicaSet, client: Client, broker: KafkaBroker
) -> None:
    """A read-committed consumer sees each change once."""
    store = kafka(broker, position_store="kafka", position_commit_interval_ms=50)
    properties = {**TRANSACTION, **store, "inflight.max.events": 2000}
    agent = agent_of(tmp_path, replica_set, properties)
    with agent:
        begin = launch(agent)
        first_peak = kill_in_the_middle(agent, client)
        launch(agent)
        client.shop.a.insert_one({"_id": WRITES})

        def is_complete() -> bool:
            return sum(broker.topics().values()) > 0 and acknowledged(agent) > 0 and has_end(broker)

        wait_until(is_complete, "the end", deadline_s=DEADLINE_S)
        peak = max(first_peak, peak_bytes(agent))
        agent.stop()
    found = [
        {"key": json.loads(each.key or b""), "value": json.loads(each.value or b"")}
        for each in broker.consume_all("p.shop.a")
    ]
    require_transaction(found, peak, begin)
    assert len(found) == WRITES + 1
    states = Counter(
        json.loads(each.value or b"")["status"] for each in broker.consume_all("p.transaction")
    )
    assert states == {"BEGIN": 1, "END": 1}


def has_end(broker: KafkaBroker) -> bool:
    """Whether the document after the transaction is committed."""
    found = broker.consume_all("p.shop.a")
    return any(json.loads(each.key or b"")["id"] == str(WRITES) for each in found[-3:])
