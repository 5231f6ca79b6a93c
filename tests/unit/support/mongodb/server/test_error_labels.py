"""Which labels an error carries, and that fail points may name them."""

from typing import Any

import pytest
from pymongo.errors import NotPrimaryError, OperationFailure, PyMongoError

from tests.support.mongodb.server.client import Client
from tests.support.mongodb.server.error_labels import error_labels

_TRANSACTION = {"txnNumber": 1, "autocommit": False}
_RETRYABLE_WRITE = {"txnNumber": 1}
_TRANSIENT, _RETRYABLE = "TransientTransactionError", "RetryableWriteError"
_RESUMABLE, _NOT_RESUMABLE = "ResumableChangeStreamError", "NonResumableChangeStreamError"


@pytest.mark.parametrize(
    ("name", "body", "code", "labels"),
    [
        ("insert", _TRANSACTION, 112, {_TRANSIENT}),
        ("insert", _TRANSACTION, 251, {_TRANSIENT}),
        ("find", _TRANSACTION, 10107, {_TRANSIENT}),
        ("insert", _TRANSACTION, 11000, set()),
        ("commitTransaction", _TRANSACTION, 24, {_TRANSIENT}),
        ("commitTransaction", _TRANSACTION, 251, {_TRANSIENT}),
        ("commitTransaction", _TRANSACTION, 10107, {_RETRYABLE}),
        ("commitTransaction", _TRANSACTION, 11601, set()),
        ("abortTransaction", _TRANSACTION, 91, {_RETRYABLE}),
        ("insert", _RETRYABLE_WRITE, 91, {_RETRYABLE}),
        ("insert", _RETRYABLE_WRITE, 112, set()),
        ("insert", {}, 91, set()),
        ("getMore", {}, 280, {_NOT_RESUMABLE}),
        ("aggregate", {}, 286, {_NOT_RESUMABLE}),
        ("getMore", {}, 91, set()),
    ],
)
def test_labels_of_an_error(name: str, body: dict[str, Any], code: int, labels: set[str]) -> None:
    assert error_labels(name, body, code) == labels


@pytest.mark.parametrize("code", [6, 91, 133, 150, 189, 234, 262, 10107, 11602, 13388, 13436])
def test_an_error_after_which_a_change_stream_resumes(code: int) -> None:
    assert error_labels("getMore", {}, code, is_on_stream=True) == {_RESUMABLE}


@pytest.mark.parametrize("code", [2, 43, 136, 237, 260, 11601])
def test_an_error_without_labels_on_a_change_stream(code: int) -> None:
    assert error_labels("getMore", {}, code, is_on_stream=True) == set()


def test_a_router_leaves_retryable_writes_to_the_shards() -> None:
    assert error_labels("insert", _RETRYABLE_WRITE, 91, is_router=True) == set()


@pytest.mark.parametrize(
    ("fail_point", "command", "labels"),
    [
        # The member did not look at the cursor, so it does not know that it is a stream's.
        ("failCommand", "getMore", []),
        ("failGetMoreAfterCursorCheckout", "getMore", [_RESUMABLE]),
        ("failCommand", "aggregate", [_RESUMABLE]),
    ],
)
def test_labels_of_a_failed_stream(
    client: Client, fail_point: str, command: str, labels: list[str]
) -> None:
    opening = {"aggregate": "customers", "pipeline": [{"$changeStream": {}}], "cursor": {}}
    number = client.shop.command(opening)["cursor"]["id"]
    data = {"failCommands": [command], "errorCode": 91}
    client.admin.command("configureFailPoint", fail_point, mode={"times": 1}, data=data)
    body = opening if command == "aggregate" else {"getMore": number, "collection": "customers"}
    with pytest.raises(PyMongoError) as raised:
        client.shop.command(body)
    assert [
        each for each in (_RESUMABLE, _RETRYABLE) if raised.value.has_error_label(each)
    ] == labels


def test_labels_of_a_write_concern_error() -> None:
    def labels(name: str, body: dict[str, Any]) -> set[str]:
        return error_labels(name, body, None, concern_code=91)

    assert labels("insert", _RETRYABLE_WRITE) == {_RETRYABLE}
    assert labels("commitTransaction", _TRANSACTION) == {_RETRYABLE}
    assert labels("insert", _TRANSACTION) == set()
    assert error_labels("commitTransaction", _TRANSACTION, 251, concern_code=91) == {_RETRYABLE}


def test_a_fail_point_names_its_labels(client: Client) -> None:
    data = {"failCommands": ["insert"], "errorCode": 10107, "errorLabels": []}
    client.admin.command("configureFailPoint", "failCommand", mode={"times": 1}, data=data)
    with pytest.raises(NotPrimaryError) as raised:
        client.shop.customers.insert_one({"_id": 1})
    assert not raised.value.has_error_label(_RETRYABLE)
    # The next of these errors has the label, so the driver sends the write again.
    del data["errorLabels"]
    client.admin.command("configureFailPoint", "failCommand", mode={"times": 1}, data=data)
    client.shop.customers.insert_one({"_id": 2})


@pytest.mark.parametrize("command", ["killSessions", "killAllSessions"])
def test_a_commit_of_a_killed_transaction_is_transient(client: Client, command: str) -> None:
    with client.start_session() as session:
        session.start_transaction()
        client.shop.customers.insert_one({"_id": 1}, session=session)
        client.admin.command(command, [session.session_id])
        with pytest.raises(OperationFailure) as raised:
            session.commit_transaction()
    assert raised.value.code == 251
    assert raised.value.has_error_label(_TRANSIENT)
