"""Lists of collections; collections and indexes that a transaction creates."""

import pytest
from pymongo.errors import OperationFailure

from tests.support.mongodb.server.client import Client


def test_a_collection_of_a_transaction_appears_with_its_commit(client: Client) -> None:
    shop = client.shop
    with client.watch(show_expanded_events=True) as stream:
        with client.start_session() as session, session.start_transaction():
            shop.create_collection("explicit", session=session)
            shop.explicit.create_index("a", session=session)
            shop.implicit.insert_one({"_id": 1}, session=session)
            assert shop.implicit.find_one({}, session=session) == {"_id": 1}
            assert shop.list_collection_names() == []
        assert sorted(shop.list_collection_names()) == ["explicit", "implicit"]
        assert list(shop.explicit.index_information()) == ["_id_", "a_1"]
        events = [stream.next() for _ in range(4)]
    kinds = [event["operationType"] for event in events]
    assert kinds == ["create", "createIndexes", "create", "insert"]
    assert len({event["clusterTime"] for event in events}) == 1
    assert {event["txnNumber"] for event in events} == {1}


def test_an_aborted_transaction_creates_nothing(client: Client) -> None:
    with client.start_session() as session:
        session.start_transaction()
        client.shop.customers.insert_one({"_id": 1}, session=session)
        session.abort_transaction()
    assert client.shop.list_collection_names() == []


def test_two_transactions_that_create_the_same_collection_conflict(client: Client) -> None:
    with client.start_session() as session:
        session.start_transaction()
        client.shop.customers.insert_one({"_id": 1}, session=session)
        client.shop.customers.insert_one({"_id": 2})
        with pytest.raises(OperationFailure) as raised:
            session.commit_transaction()
    assert raised.value.code == 112
    assert list(client.shop.customers.find()) == [{"_id": 2}]


def test_an_index_of_an_existing_collection_needs_no_transaction(client: Client) -> None:
    client.shop.customers.insert_one({"_id": 1})
    with client.start_session() as session:
        session.start_transaction()
        with pytest.raises(OperationFailure) as raised:
            client.shop.customers.create_index("a", session=session)
    assert raised.value.code == 263


def test_a_count_does_not_run_in_a_transaction(client: Client) -> None:
    with client.start_session() as session:
        session.start_transaction()
        with pytest.raises(OperationFailure) as raised:
            client.shop.command("count", "customers", session=session)
    assert raised.value.code == 263


def test_a_collection_is_validated(client: Client) -> None:
    client.shop.customers.insert_one({"_id": 1})
    found = client.shop.validate_collection("customers")
    assert found["valid"]
    assert found["nrecords"] == 1


@pytest.mark.parametrize("command", ["listCollections", "listIndexes"])
def test_a_list_comes_in_batches(client: Client, command: str) -> None:
    for number in range(5):
        client.shop.create_collection(f"c{number}")
        client.shop.c0.create_index(f"f{number}")
    argument = 1 if command == "listCollections" else "c0"
    reply = client.shop.command(command, argument, cursor={"batchSize": 2})["cursor"]
    name = str(reply["ns"]).partition(".")[2]
    assert len(reply["firstBatch"]) == 2
    rest = client.shop.command("getMore", reply["id"], collection=name)["cursor"]
    assert len(rest["nextBatch"]) == (3 if command == "listCollections" else 4)
    assert rest["id"] == 0
