"""Writes that are wrong whatever documents there are, and write concerns without a write."""

from typing import Any

import pytest
from pymongo import DeleteOne, InsertOne, UpdateOne
from pymongo.errors import BulkWriteError, OperationFailure
from pymongo.write_concern import WriteConcern

from tests.support.mongodb.server.client import Client


@pytest.mark.parametrize(
    ("update", "code"), [([{"$unknown": 1}], 40324), ({"$unknown": {"a": 1}}, 9)]
)
def test_a_malformed_update_is_an_error_without_documents(
    client: Client, update: Any, code: int
) -> None:
    with pytest.raises(OperationFailure) as raised:
        client.shop.customers.update_one({}, update)
    assert raised.value.code == code


def test_a_write_without_statements_is_refused(client: Client) -> None:
    with pytest.raises(OperationFailure) as raised:
        client.shop.command("insert", "customers", documents=[])
    assert raised.value.details is not None
    assert raised.value.details["codeName"] == "InvalidLength"


@pytest.mark.parametrize(
    "write", [InsertOne({"_id": 1}), DeleteOne({}), UpdateOne({}, {"$set": {"a": 1}})]
)
def test_an_impossible_write_concern_is_an_error_without_a_write(
    client: Client, write: Any
) -> None:
    collection = client.shop.get_collection("customers", write_concern=WriteConcern(w=30))
    with pytest.raises(BulkWriteError) as raised:
        collection.bulk_write([write])
    assert raised.value.details["writeConcernErrors"][0]["code"] == 100
