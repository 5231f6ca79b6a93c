"""Shared helpers: a stream's events as pairs, and commands that must fail."""

from collections.abc import Iterable
from typing import Any

import pytest
from pymongo.errors import OperationFailure

from tests.support.mongodb.server.client import Client

Document = dict[str, Any]
WATCHED = "customers"


def opened(
    client: Client, *stages: Document, target: str | int = WATCHED, **stage: Any
) -> Document:
    """The `cursor` of an aggregate that opens a stream on `shop`."""
    pipeline = [{"$changeStream": stage}, *stages]
    reply = client.shop.command("aggregate", target, pipeline=pipeline, cursor={"batchSize": 0})
    cursor: Document = reply["cursor"]
    return cursor


def fetched(client: Client, cursor: Document, target: str = WATCHED) -> Document:
    """The `cursor` of a `getMore` that does not wait for events."""
    reply = client.shop.command("getMore", cursor["id"], collection=target, maxTimeMS=1)
    answered: Document = reply["cursor"]
    return answered


def events(client: Client, *stages: Document, target: str | int = WATCHED, **stage: Any) -> Any:
    """The events that a newly opened stream returns immediately."""
    cursor = opened(client, *stages, target=target, **stage)
    name = target if isinstance(target, str) else "$cmd.aggregate"
    return fetched(client, cursor, name)["nextBatch"]


def kinds(found: Iterable[Document]) -> list[str]:
    return [event["operationType"] for event in found]


def now(client: Client) -> Any:
    """The time after all writes so far."""
    return client.admin.command("ping")["operationTime"]


def refused(
    client: Client, code: int, *stages: Document, target: str | int = WATCHED, **stage: Any
) -> None:
    """The stream fails to open, or its first batch fails, with this error."""
    with pytest.raises(OperationFailure) as raised:
        events(client, *stages, target=target, **stage)
    assert raised.value.code == code
