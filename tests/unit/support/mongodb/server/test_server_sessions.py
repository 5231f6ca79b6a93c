"""Transactions, and reads at a cluster time."""

from typing import Any

import pytest
from bson import Timestamp
from pymongo.errors import OperationFailure

from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client
from tests.support.mongodb.server.given import needs_release


def test_a_transaction_is_one_piece_of_the_stream(client: Client) -> None:
    shop = client.shop
    shop.customers.insert_one({"_id": 0})
    with client.watch() as stream:
        with client.start_session() as session:
            with session.start_transaction():
                shop.customers.insert_one({"_id": 1}, session=session)
                shop.other.insert_one({"_id": 9})
                shop.customers.update_one({"_id": 1}, {"$set": {"a": 1}}, session=session)
                shop.customers.delete_one({"_id": 0}, session=session)
                assert shop.customers.find_one({"_id": 1}) is None
                own = shop.customers.find({}, session=session)
                assert list(own) == [{"_id": 1, "a": 1}]
            lsid = session.session_id["id"]
        events = [stream.next() for _ in range(4)]
    assert [event["operationType"] for event in events] == ["insert", "insert", "update", "delete"]
    assert events[0]["ns"]["coll"] == "other"
    assert "lsid" not in events[0]
    assert len({event["clusterTime"] for event in events[1:]}) == 1
    assert {event["lsid"]["id"] for event in events[1:]} == {lsid}
    assert {event["txnNumber"] for event in events[1:]} == {1}
    tokens = [event["_id"]["_data"] for event in events]
    assert tokens == sorted(set(tokens))


def test_a_large_transaction_resumes_inside(client: Client) -> None:
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


def test_an_aborted_transaction_leaves_nothing(client: Client) -> None:
    shop = client.shop
    shop.create_collection("customers")
    with client.watch(max_await_time_ms=1) as stream:
        with client.start_session() as session:
            session.start_transaction()
            shop.customers.insert_one({"_id": 1}, session=session)
            session.abort_transaction()
            # The document is free again.
            shop.customers.insert_one({"_id": 1, "again": True})
        assert stream.next()["fullDocument"] == {"_id": 1, "again": True}
        assert stream.try_next() is None


def test_conflicts_are_retried_by_the_driver(client: Client) -> None:
    customers = client.shop.customers
    customers.insert_one({"_id": 1, "n": 0})
    attempts = []

    def increment(session: Any) -> None:
        attempts.append(customers.find_one({"_id": 1}, session=session))
        if len(attempts) == 1:
            customers.update_one({"_id": 1}, {"$inc": {"n": 10}})
        customers.update_one({"_id": 1}, {"$inc": {"n": 1}}, session=session)

    with client.start_session() as session:
        session.with_transaction(increment)
    assert attempts == [{"_id": 1, "n": 0}, {"_id": 1, "n": 10}]
    assert customers.find_one() == {"_id": 1, "n": 11}


def test_a_commit_that_is_asked_for_twice(client: Client) -> None:
    client.shop.create_collection("customers")
    with client.watch(max_await_time_ms=1) as stream, client.start_session() as session:
        session.start_transaction()
        client.shop.customers.insert_one({"_id": 1}, session=session)
        client.admin.command(
            "configureFailPoint",
            "failCommand",
            mode={"times": 1},
            data={"failCommands": ["commitTransaction"], "closeConnection": True},
        )
        session.commit_transaction()
        session.commit_transaction()
        assert stream.next()["documentKey"] == {"_id": 1}
        assert stream.try_next() is None


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


def test_every_state_can_be_read_again(client: Client, replica_set: MongoReplicaSet) -> None:
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


def test_events_and_reads_agree_about_time(client: Client) -> None:
    needs_release(client, 5, 0)
    customers = client.shop.customers
    with client.shop.watch() as stream:
        for number in range(5):
            customers.insert_one({"_id": number})
        for number in range(5):
            event = stream.next()
            assert len(find_at(client, event["clusterTime"])) == number + 1


def test_times_outside_of_the_history(client: Client, replica_set: MongoReplicaSet) -> None:
    client.shop.customers.insert_one({"_id": 1})
    old = replica_set.cluster_time
    replica_set.expire_history()
    for time, code in ((old, 239), (Timestamp(2**32 - 1, 1), 72)):
        with pytest.raises(OperationFailure) as caught:
            find_at(client, time)
        assert caught.value.code == code


def test_a_session_of_snapshot_reads(client: Client) -> None:
    needs_release(client, 5, 0)
    customers = client.shop.customers
    customers.insert_one({"_id": 1})
    with client.start_session(snapshot=True) as session:
        assert list(customers.find({}, session=session)) == [{"_id": 1}]
        customers.insert_one({"_id": 2})
        assert list(customers.find({}, session=session)) == [{"_id": 1}]
        assert customers.distinct("_id", session=session) == [1]
    assert customers.count_documents({}) == 2


def test_the_length_of_history_can_be_read(client: Client, replica_set: MongoReplicaSet) -> None:
    first = client.local["oplog.rs"].find_one(sort=[("$natural", 1)])
    assert first is not None
    replica_set.write_noop()
    replica_set.truncate_oplog()
    later = client.local["oplog.rs"].find_one(sort=[("$natural", 1)])
    assert later is not None
    assert later["ts"] > first["ts"]
    assert later["ts"] == replica_set.cluster_time
