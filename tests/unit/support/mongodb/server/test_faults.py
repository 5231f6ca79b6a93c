"""Fail points as drivers' tests set them."""

from typing import Any

import pytest
from bson import Int64
from pymongo import MongoClient
from pymongo.errors import AutoReconnect, ServerSelectionTimeoutError, WriteError

from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client


def test_the_first_hello_of_an_application_fails(
    client: Client, replica_set: MongoReplicaSet
) -> None:
    data = {"failCommands": ["isMaster", "hello"], "closeConnection": True, "appName": "named"}
    client.admin.command("configureFailPoint", "failCommand", mode="alwaysOn", data=data)
    target = replica_set.connection_string
    with (
        MongoClient[dict[str, Any]](target, appName="named", serverSelectionTimeoutMS=200) as named,
        pytest.raises(ServerSelectionTimeoutError),
    ):
        named.admin.command("ping")
    with MongoClient[dict[str, Any]](target, appName="other") as other:
        assert other.admin.command("ping")["ok"]


def test_an_injected_shutdown_error_clears_the_pool(client: Client) -> None:
    """Without a topology version in the reply the driver cannot take it for an old one."""
    data = {"failCommands": ["ping"], "errorCode": 91}
    client.admin.command("configureFailPoint", "failCommand", mode={"times": 1}, data=data)
    with pytest.raises(AutoReconnect) as raised:
        client.admin.command("ping")
    assert isinstance(raised.value.details, dict)
    assert raised.value.details["code"] == 91
    assert "topologyVersion" not in raised.value.details


@pytest.mark.parametrize("data", [{}, {"failBeforeCommitExceptionCode": 1}])
def test_a_retryable_write_without_a_reply_happens_once(
    client: Client, data: dict[str, Any]
) -> None:
    name = "onPrimaryTransactionalWrite"
    client.admin.command("configureFailPoint", name, mode={"times": 1}, data=data)
    customers = client.shop.customers
    assert customers.insert_one({"_id": 1}).acknowledged
    assert customers.update_one({"_id": 1}, {"$inc": {"count": Int64(1)}}).matched_count == 1
    assert list(customers.find()) == [{"_id": 1, "count": 1}]


def test_a_retryable_write_that_fails_is_not_remembered(client: Client) -> None:
    data = {"failBeforeCommitExceptionCode": 1, "closeConnection": False}
    name = "onPrimaryTransactionalWrite"
    client.admin.command("configureFailPoint", name, mode={"times": 1}, data=data)
    with pytest.raises(WriteError) as raised:
        client.shop.customers.insert_one({"_id": 1})
    assert raised.value.code == 1
    assert client.shop.customers.find_one() is None
