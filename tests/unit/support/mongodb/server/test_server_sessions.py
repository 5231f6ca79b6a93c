"""Transactions, and reads at a cluster time."""

from typing import Any

import pytest
from bson import Timestamp
from pymongo.errors import OperationFailure

from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client


def test_stream_resumes_inside_large_transaction(client: Client) -> None:
    customers = client.shop.customers
    customers.insert_one({"_id": -1})
    with customers.watch() as stream:
        with client.start_session() as session, session.start_transaction():
            customers.insert_many([{"_id": number} for number in range(300)], session=session)
        events = [stream.next() for _ in range(300)]
    tokens = [event["_id"]["_data"] for event in events]
    assert tokens == sorted(set(tokens))
    for number in (0, 126, 127, 128, 255, 298):
        with customers.watch(resume_after=events[number]["_id"]) as stream:
            assert stream.next() == events[number + 1]


def find_at(client: Client, time: Timestamp, **options: Any) -> list[Any]:
    concern = {"level": "snapshot", "atClusterTime": time}
    reply = client.shop.command("find", "customers", readConcern=concern, **options)
    cursor = reply["cursor"]
    assert cursor["atClusterTime"] == time
    found: list[Any] = cursor["firstBatch"]
    while cursor["id"]:
        cursor = client.shop.command("getMore", cursor["id"], collection="customers")["cursor"]
        found += cursor["nextBatch"]
    return found


def test_past_states_are_readable_by_time(client: Client, replica_set: MongoReplicaSet) -> None:
    customers = client.shop.customers
    states = [(replica_set.write_noop(), list(customers.find().sort("_id")))]
    for number in range(6):
        customers.insert_one({"_id": number, "n": 0})
        customers.update_many({}, {"$inc": {"n": 1}})
        if number == 3:
            customers.delete_one({"_id": 1})
        states.append((replica_set.cluster_time, list(customers.find().sort("_id"))))
    customers.drop()
    states.append((replica_set.cluster_time, []))
    for time, documents in states:
        assert find_at(client, time, batchSize=2, sort={"_id": 1}) == documents
    bounds = {"min": {"_id": 1}, "max": {"_id": 3}, "hint": {"_id": 1}}
    time, documents = states[3]
    assert find_at(client, time, **bounds, sort={"_id": 1}) == documents[1:]


def test_reads_outside_history_are_errors(client: Client, replica_set: MongoReplicaSet) -> None:
    client.shop.customers.insert_one({"_id": 1})
    old = replica_set.cluster_time
    replica_set.expire_history()
    for time, code in ((old, 239), (Timestamp(2**32 - 1, 1), 72)):
        with pytest.raises(OperationFailure) as caught:
            find_at(client, time)
        assert caught.value.code == code


def test_oplog_start_is_readable(client: Client, replica_set: MongoReplicaSet) -> None:
    first = client.local["oplog.rs"].find_one(sort=[("$natural", 1)])
    assert first is not None
    replica_set.write_noop()
    replica_set.truncate_oplog()
    later = client.local["oplog.rs"].find_one(sort=[("$natural", 1)])
    assert later is not None
    assert later["ts"] > first["ts"]
    assert later["ts"] == replica_set.cluster_time
