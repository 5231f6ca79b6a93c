"""Elections, lost connections and fail points, as a driver lives through them."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.collection import Collection
from pymongo.errors import (
    AutoReconnect,
    DuplicateKeyError,
    ExecutionTimeout,
    NotPrimaryError,
    OperationFailure,
    WriteConcernError,
    WTimeoutError,
)
from pymongo.write_concern import WriteConcern

from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client

MINUTES_MS = 5 * 60 * 1000


@pytest.fixture
def three() -> Iterator[MongoReplicaSet]:
    with MongoReplicaSet(members=3) as started:
        yield started


@pytest.fixture
def driver(three: MongoReplicaSet) -> Iterator[Client]:
    with Client(three.connection_string, serverSelectionTimeoutMS=MINUTES_MS) as connected:
        yield connected


def direct(address: str) -> Client:
    return Client(f"mongodb://{address}/?directConnection=true")


def insert(collection: Collection[dict[str, Any]], key: int) -> None:
    """As an application does it: the driver tries twice, and then tells."""
    while True:
        try:
            collection.insert_one({"_id": key})
            return
        except DuplicateKeyError:
            return
        except AutoReconnect:
            continue


def step_down(replica_set: MongoReplicaSet) -> None:
    replica_set.step_down()


def step_down_politely(replica_set: MongoReplicaSet) -> None:
    replica_set.step_down(drops_connections=False)


def kill_primary(replica_set: MongoReplicaSet) -> None:
    assert replica_set.primary is not None
    replica_set.stop_member(replica_set.primary)


def restart_primary(replica_set: MongoReplicaSet) -> None:
    killed = replica_set.primary
    assert killed is not None
    replica_set.stop_member(killed)
    replica_set.start_member(killed)


def drop_connections(replica_set: MongoReplicaSet) -> None:
    replica_set.drop_connections()


def elect_after_a_time_without(replica_set: MongoReplicaSet) -> None:
    replica_set.lose_primary()
    assert replica_set.primary is None
    replica_set.elect(replica_set.members[2])


FAULTS = [
    step_down,
    step_down_politely,
    restart_primary,
    drop_connections,
    elect_after_a_time_without,
]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_stream_and_its_writer_live_through_it(
    three: MongoReplicaSet, driver: Client, fault: Callable[[MongoReplicaSet], None]
) -> None:
    collection = driver.shop.customers
    with collection.watch() as stream:
        for number in range(20):
            if number in (5, 15):
                fault(three)
            insert(collection, number)
        assert [stream.next()["documentKey"]["_id"] for _ in range(20)] == list(range(20))


# A driver that has no `getMore` on its way waits for a dead member as long as for any other.
@pytest.mark.parametrize("fault", [*FAULTS, kill_primary])
def test_a_stream_that_waits_lives_through_it(
    three: MongoReplicaSet, driver: Client, fault: Callable[[MongoReplicaSet], None]
) -> None:
    found: list[Any] = []
    with (
        Client(three.connection_string, serverSelectionTimeoutMS=MINUTES_MS) as reader,
        reader.shop.watch(max_await_time_ms=MINUTES_MS) as stream,
    ):
        waiting = threading.Thread(target=lambda: found.append(stream.next()))
        waiting.start()
        fault(three)
        insert(driver.shop.customers, 1)
        waiting.join()
    assert [event["documentKey"] for event in found] == [{"_id": 1}]


def test_election_interrupts_operations_on_the_old_primary(three: MongoReplicaSet) -> None:
    errors: list[Any] = []

    def wait_for_events() -> None:
        pipeline: list[dict[str, Any]] = [{"$changeStream": {}}]
        with direct(three.members[0]) as client:
            opened = client.shop.command("aggregate", "customers", pipeline=pipeline, cursor={})
            number = opened["cursor"]["id"]
            try:
                client.shop.command("getMore", number, collection="customers", maxTimeMS=MINUTES_MS)
            except NotPrimaryError as error:
                errors.append(error.details)

    waiting = threading.Thread(target=wait_for_events)
    waiting.start()
    # An election before the command began interrupts nothing, so there are as many as it takes.
    while waiting.is_alive():
        three.elect(three.members[1])
        three.elect(three.members[0])
        waiting.join(0.01)
    assert [error["code"] for error in errors] == [11602]
    assert errors[0]["errorLabels"] == ["ResumableChangeStreamError"]


def test_member_reports_its_role_and_topology_version(three: MongoReplicaSet) -> None:
    with direct(three.members[0]) as first, direct(three.members[1]) as second:
        old = first.admin.command("hello")
        assert old["isWritablePrimary"]
        assert old["hosts"] == three.members
        assert not second.admin.command("hello")["isWritablePrimary"]
        three.elect(three.members[1])
        new = second.admin.command("hello")
        assert new["isWritablePrimary"]
        assert new["electionId"] > old["electionId"]
        after = first.admin.command("hello")
        assert after["secondary"]
        assert after["primary"] == three.members[1]
        assert after["topologyVersion"]["counter"] > old["topologyVersion"]["counter"]


def test_only_the_primary_writes(three: MongoReplicaSet) -> None:
    with direct(three.members[1]) as secondary:
        with pytest.raises(NotPrimaryError) as caught:
            secondary.shop.command("insert", "customers", documents=[{}])
        details: Any = caught.value.details
        assert details["code"] == 10107
        assert "topologyVersion" in details
        assert secondary.shop.customers.find_one() is None


def test_secondaries_have_the_same_tokens(three: MongoReplicaSet, driver: Client) -> None:
    with driver.shop.watch() as stream:
        driver.shop.customers.insert_many([{"_id": 1}, {"_id": 2}])
        token = stream.next()["_id"]
        rest = stream.next()
    for address in three.members:
        with direct(address) as member, member.shop.watch(resume_after=token) as stream:
            assert stream.next() == rest


def test_a_killed_member_comes_back(three: MongoReplicaSet, driver: Client) -> None:
    killed = three.members[0]
    three.stop_member(killed)
    driver.shop.customers.insert_one({"_id": 1})
    with direct(three.members[1]) as other:
        members = other.admin.command("replSetGetStatus")["members"]
    assert [each["stateStr"] for each in members] == [
        "(not reachable/healthy)",
        "PRIMARY",
        "SECONDARY",
    ]
    three.start_member(killed)
    with direct(killed) as member:
        assert member.admin.command("hello")["secondary"]
        assert member.shop.customers.find_one() == {"_id": 1}


def fail_commands(client: MongoClient[Any], mode: Any, **data: Any) -> None:
    client.admin.command("configureFailPoint", "failCommand", mode=mode, data=data)


@pytest.mark.parametrize("code", [43, 91, 10107, 11602])
def test_a_resumable_error_is_resumed(client: Client, code: int) -> None:
    with client.shop.watch() as stream:
        fail_commands(client, {"times": 1}, failCommands=["getMore"], errorCode=code)
        client.shop.customers.insert_one({"_id": 1})
        assert stream.next()["documentKey"] == {"_id": 1}


def test_resumable_error_has_its_label(client: Client) -> None:
    """Codes that the driver resumes after by their label alone (the driver's own fail points)."""
    with client.shop.watch() as stream:
        for number, code in enumerate((6, 189, 262, 9001)):
            client.admin.command(
                "configureFailPoint",
                "failGetMoreAfterCursorCheckout",
                mode={"times": 1},
                data={"errorCode": code},
            )
            client.shop.customers.insert_one({"_id": number})
            assert stream.next()["documentKey"] == {"_id": number}
        fail_commands(client, {"times": 1}, failCommands=["getMore"], errorCode=6)
        with pytest.raises(OperationFailure) as caught:
            stream.next()
    assert caught.value.code == 6


def test_other_errors_and_errors_of_opening_are_reported(client: Client) -> None:
    fail_commands(client, {"times": 1}, failCommands=["getMore"], errorCode=286)
    with client.shop.watch() as stream, pytest.raises(OperationFailure) as caught:
        stream.next()
    assert caught.value.code == 286
    fail_commands(client, {"times": 2}, failCommands=["aggregate"], errorCode=2)
    with pytest.raises(OperationFailure) as caught:
        client.shop.watch()
    assert caught.value.code == 2
    fail_commands(client, "alwaysOn", failCommands=["ping"], closeConnection=True)
    with pytest.raises(AutoReconnect):
        client.admin.command("ping")
    client.admin.command("configureFailPoint", "failCommand", mode="off")
    assert client.admin.command("ping")["ok"] == 1


def test_a_retried_write_happens_once(client: Client) -> None:
    collection = client.shop.customers
    collection.insert_one({"_id": 1, "n": 0})
    # The reply of the first attempt is lost, not its work.
    fail_commands(
        client,
        {"times": 1},
        failCommands=["update"],
        writeConcernError={"code": 262, "errmsg": "exceeded time limit"},
    )
    collection.update_one({"_id": 1}, {"$inc": {"n": 1}})
    assert collection.find_one() == {"_id": 1, "n": 1}
    fail_commands(client, {"times": 1}, failCommands=["update"], closeConnection=True)
    collection.update_one({"_id": 1}, {"$inc": {"n": 1}})
    assert collection.find_one() == {"_id": 1, "n": 2}


def test_without_a_majority_streams_stand_still(
    client: Client, replica_set: MongoReplicaSet
) -> None:
    collection = client.shop.customers
    at_once = collection.with_options(write_concern=WriteConcern(w=1))
    with collection.watch(max_await_time_ms=1) as stream:
        assert stream.try_next() is None
        with replica_set.stalled_majority():
            before = stream.resume_token
            at_once.insert_one({"_id": 1})
            assert stream.try_next() is None
            assert stream.resume_token == before
            impatient = collection.with_options(write_concern=WriteConcern("majority", wtimeout=1))
            with pytest.raises(WTimeoutError):
                impatient.insert_one({"_id": 2})
        assert [stream.next()["documentKey"]["_id"] for _ in range(2)] == [1, 2]


def test_a_secondary_that_lags_shows_the_past(three: MongoReplicaSet, driver: Client) -> None:
    driver.shop.customers.insert_one({"_id": 1})
    late = three.members[2]
    with direct(late) as secondary, secondary.shop.watch(max_await_time_ms=1) as stream:
        with three.lagging(late):
            written = driver.shop.customers.insert_one({"_id": 2})
            assert written.acknowledged
            before = secondary.admin.command("ping")["operationTime"]
            assert before < driver.admin.command("ping")["operationTime"]
            assert [each["_id"] for each in secondary.shop.customers.find()] == [1]
            assert stream.try_next() is None
            position = stream.resume_token
            three.write_noop()
            assert stream.try_next() is None
            assert stream.resume_token == position
            # Who asks for what was written later waits for it, as long as it may.
            later = {"level": "snapshot", "atClusterTime": three.cluster_time}
            with pytest.raises(ExecutionTimeout):
                secondary.shop.command("find", "customers", readConcern=later, maxTimeMS=1)
        found = secondary.shop.command("find", "customers", readConcern=later)
        assert len(found["cursor"]["firstBatch"]) == 2
        assert stream.next()["documentKey"] == {"_id": 2}
    with pytest.raises(ValueError, match="a primary"), three.lagging(three.members[0]):
        pass


@pytest.mark.parametrize(("wanted", "code"), [(4, 100), ("nowhere", 79)])
def test_a_write_concern_beyond_the_set_is_an_error(
    driver: Client, wanted: int | str, code: int
) -> None:
    concern = WriteConcern(w=wanted)
    with pytest.raises(WriteConcernError) as raised:
        driver.shop.get_collection("customers", write_concern=concern).insert_one({"_id": 1})
    assert raised.value.code == code
    assert driver.shop.customers.find_one() == {"_id": 1}
