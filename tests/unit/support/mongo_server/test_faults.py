"""Fail points as drivers' tests set them."""

from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.errors import AutoReconnect, ServerSelectionTimeoutError

from tests.support.mongo_server import MongoReplicaSet
from tests.support.mongo_server.client import Client


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
