"""Authentication, and what users may do."""

from collections.abc import Iterator
from typing import Any

import pytest
from pymongo.errors import OperationFailure

from tests.support.mongodb.server import MongoReplicaSet, Privilege, User
from tests.support.mongodb.server.client import Client

ROOT = User("root", "open")
SHOP_READER = User("reader", "p@ß/word", (("read", "shop"),))
READER = User("all", "open", (("readAnyDatabase", "admin"),))


@pytest.fixture
def guarded() -> Iterator[MongoReplicaSet]:
    with MongoReplicaSet(users=[ROOT, SHOP_READER, READER]) as started:
        yield started


def client_of(replica_set: MongoReplicaSet, user: User) -> Client:
    return Client(replica_set.connection_string, username=user.name, password=user.password)


def code_of(client: Client, command: str, value: object, **arguments: Any) -> int | None:
    with pytest.raises(OperationFailure) as caught:
        client.shop.command(command, value, **arguments)
    return caught.value.code


def test_user_has_the_rights_of_its_roles(guarded: MongoReplicaSet) -> None:
    with (
        client_of(guarded, ROOT) as root,
        client_of(guarded, SHOP_READER) as shop_reader,
        client_of(guarded, READER) as reader,
    ):
        root.shop.customers.insert_one({"_id": 1})
        assert shop_reader.shop.customers.find_one() == {"_id": 1}
        assert shop_reader.list_database_names() == ["shop"]
        assert code_of(shop_reader, "insert", "customers", documents=[{}]) == 13
        with pytest.raises(OperationFailure) as caught:
            shop_reader.other.things.find_one()
        assert caught.value.code == 13
        with pytest.raises(OperationFailure) as caught:
            shop_reader.watch()
        assert caught.value.code == 13
        with shop_reader.shop.watch() as of_shop, reader.watch() as of_all:
            root.shop.customers.insert_one({"_id": 2})
            assert of_shop.next() == of_all.next()


def test_wrong_or_no_credentials(guarded: MongoReplicaSet) -> None:
    for user in (User("root", "shut"), User("nobody", "open")):
        with client_of(guarded, user) as client:
            assert code_of(client, "find", "customers") == 18
    with Client(guarded.connection_string) as client:
        assert client.admin.command("ping")["ok"] == 1
        assert code_of(client, "find", "customers") == 13


def privileges_of(client: Client) -> list[dict[str, Any]]:
    status = client.admin.command("connectionStatus", showPrivileges=True)
    listed: list[dict[str, Any]] = status["authInfo"]["authenticatedUserPrivileges"]
    return listed


def test_privileges_are_reported_and_enforced() -> None:
    finder = User(
        "finder",
        "open",
        roles=(),
        privileges=(
            Privilege(("find",), "shop", "customers"),
            Privilege(("find", "changeStream"), "crm"),
            Privilege(("listDatabases",), None),
        ),
    )
    with (
        MongoReplicaSet(users=[ROOT, finder]) as started,
        client_of(started, ROOT) as root,
        client_of(started, finder) as client,
    ):
        root.shop.customers.insert_one({"_id": 1})
        assert client.shop.customers.find_one() == {"_id": 1}
        with client.crm.watch() as stream:
            root.crm.people.insert_one({"_id": 2})
            assert stream.next()["documentKey"] == {"_id": 2}
        for refused in (
            lambda: client.shop.customers.watch(),
            lambda: client.watch(),
            lambda: client.shop.orders.find_one(),
            lambda: client.local["oplog.rs"].find_one(),
            lambda: client.crm.list_collection_names(),
        ):
            with pytest.raises(OperationFailure) as caught:
                refused()
            assert caught.value.code == 13
        assert privileges_of(client)[1:] == [
            {"resource": {"db": "crm", "collection": ""}, "actions": ["changeStream", "find"]},
            {"resource": {"cluster": True}, "actions": ["listDatabases"]},
        ]
        assert privileges_of(root)[0]["resource"] == {"anyResource": True}


def test_a_role_over_all_databases_leaves_out_those_of_the_server(guarded: MongoReplicaSet) -> None:
    with client_of(guarded, READER) as reader:
        with pytest.raises(OperationFailure) as caught:
            reader.local["oplog.rs"].find_one()
        assert caught.value.code == 13


def test_a_standalone_has_no_change_streams() -> None:
    with (
        MongoReplicaSet(is_standalone=True) as started,
        Client(started.connection_string) as client,
    ):
        client.shop.customers.insert_one({"_id": 1})
        assert "setName" not in client.admin.command("hello")
        with pytest.raises(OperationFailure) as caught:
            client.watch()
        assert caught.value.code == 40573
