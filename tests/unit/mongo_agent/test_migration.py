"""Offsets of Kafka Connect and of Debezium's MongoDB connector, in their own formats."""

import base64
import json
from typing import Any

import bson
import pytest
from bson import Binary

from mongo_agent.change_stream.position import Opening, opening
from mongo_agent.documents import ClusterTime
from mongo_agent.migration import ConnectOffset, connect_offsets, imported_position, read_file
from sidecar.errors import ConfigError

# `HashMap<byte[], byte[]>`, written by `ObjectOutputStream` of Java 17. It contains two offsets:
# shop-connector of shop and other of other.
JAVA_MAP = base64.b64decode(
    "rO0ABXNyABFqYXZhLnV0aWwuSGFzaE1hcAUH2sHDFmDRAwACRgAKbG9hZEZhY3RvckkACXRocmVzaG9sZHhwP0AAAAAA"
    "AAx3CAAAABAAAAACdXIAAltCrPMX+AYIVOACAAB4cAAAAB9bIm90aGVyIix7InNlcnZlcl9pZCI6Im90aGVyIn1ddXEA"
    "fgACAAAACXsic2VjIjoxfXVxAH4AAgAAACdbInNob3AtY29ubmVjdG9yIix7InNlcnZlcl9pZCI6InNob3AifV11cQB+"
    "AAIAAABEeyJzZWMiOjE3MDcxNDcyNDYsIm9yZCI6MywidHJhbnNhY3Rpb25faWQiOm51bGwsInJlc3VtZV90b2tlbiI6"
    "Inh4In14"
)
TIME = ClusterTime(0x65C0FFEE, 3)
EVENT = "8265C0FFEE000000032B022C0100296E5A"
MARK = "8265C0FFEE000000032B0229296E04"


def token_2x(data: object) -> str:
    return base64.b64encode(bson.encode({"_data": data})).decode()


def offset(server_id: str = "shop", rs: str | None = None, **values: Any) -> ConnectOffset:
    partition = {"server_id": server_id} if rs is None else {"server_id": server_id, "rs": rs}
    return ConnectOffset("shop-connector", partition, values)


def test_standalone_worker_file_is_read() -> None:
    found = {each.connector: each for each in connect_offsets(read_file(JAVA_MAP))}
    assert found.keys() == {"other", "shop-connector"}
    assert found["shop-connector"].partition == {"server_id": "shop"}
    assert found["shop-connector"].offset["sec"] == 1707147246


def test_offset_topic_lines_of_distributed_worker_are_read() -> None:
    key = json.dumps(["shop-connector", {"server_id": "shop", "rs": "rs0"}])
    gone = json.dumps(["gone", {"server_id": "gone"}])
    lines = [
        f'{key}\t{{"sec":1,"ord":1}}',
        "",
        f'{gone}\t{{"sec":1,"ord":1}}',
        f'{key}\t{{"sec":2,"ord":7}}',
        f"{gone}\tnull",
        'commit-of-another-plugin\t{"a":1}',
        "[1,2,3]\t[]",
    ]
    (found,) = connect_offsets(read_file("\n".join(lines).encode()))
    assert found == offset(rs="rs0", sec=2, ord=7)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"token=8265", "Line 1 is not an offset. It must be `<key><tab><value>`"),
        (JAVA_MAP[:40], "not the map of byte arrays that Kafka Connect writes"),
        (b"\xac\xed\x00\x05t\x00\x01a", "not the map of byte arrays that Kafka Connect writes"),
    ],
)
def test_invalid_offset_file_is_rejected(content: bytes, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        read_file(content)


@pytest.mark.parametrize("text", [token_2x(EVENT), EVENT])
def test_imported_event_token_skips_sent_events(text: str) -> None:
    taken = imported_position([offset(sec=TIME.second, ord=3, resume_token=text)], "shop", "rs0/x")
    assert taken.position.cluster == "rs0/x"
    assert opening(taken.position, "ours") == Opening(from_time=TIME, sent={"_data": EVENT})
    assert taken.messages == (
        f"Imported the offset of shop-connector: cluster time {TIME}, with its resume token. "
        "No event is repeated.",
    )


def test_imported_heartbeat_token_opens_stream() -> None:
    taken = imported_position([offset(sec=-1, ord=-1, resume_token=token_2x(MARK))], "shop", "rs0")
    assert taken.position.time == TIME
    assert opening(taken.position, "ours") == Opening(start_after={"_data": MARK})


@pytest.mark.parametrize("values", [{}, {"resume_token": token_2x(Binary(b"abc"))}])
def test_unusable_imported_token_falls_back_to_time(values: dict[str, str]) -> None:
    taken = imported_position([offset(sec=9, ord=2, **values)], "shop", "rs0")
    assert opening(taken.position, "ours") == Opening(from_time=ClusterTime(9, 2))
    assert "Events at this time are repeated" in taken.messages[0]


def test_oldest_time_of_several_shards_is_imported() -> None:
    both = [
        offset(rs="shard0", sec=9, ord=2, resume_token=token_2x("8200000009000000022B022C01")),
        offset(rs="shard1", sec=8, ord=5, resume_token=token_2x("8200000008000000052B022C01")),
        offset("other", sec=1, ord=1),
    ]
    with pytest.raises(ConfigError, match=r"2 offsets of shop: .*shard1\) at 8:5\. .*--oldest"):
        imported_position(both, "shop", "c")
    taken = imported_position(both, "shop", "c", oldest=True)
    assert opening(taken.position, "ours") == Opening(from_time=ClusterTime(8, 5))
    assert "shop-connector (shard1): cluster time 8:5, the oldest of 2" in taken.messages[0]


def test_unmigrated_state_is_reported() -> None:
    values = {
        "transaction_id": "7:1",
        "incremental_snapshot_collections": "[]",
        "resume_token": token_2x(EVENT),
    }
    _, transaction, snapshot = imported_position([offset(**values)], "shop", "rs0").messages
    assert transaction.startswith("The transaction 7:1 was open")
    assert snapshot.startswith("An incremental snapshot was running")


@pytest.mark.parametrize(
    ("offsets", "words"),
    [
        ([], "no offsets of a Debezium connector"),
        ([offset("a", sec=1, ord=1)], r"no offset for shop \(topic.prefix\), only for a\."),
        ([offset(sec=1, ord=1, initsync=True)], "stopped during its snapshot"),
        ([offset(sec=-1, ord=-1)], "neither a resume token nor a time"),
        ([offset(resume_token="?")], "The resume token of shop-connector cannot be read"),
        ([offset(resume_token="AA==")], "The resume token of shop-connector cannot be read"),
    ],
)
def test_unmigratable_state_is_rejected(offsets: list[ConnectOffset], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        imported_position(offsets, "shop", "rs0")
