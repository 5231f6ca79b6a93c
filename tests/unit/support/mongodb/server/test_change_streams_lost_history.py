"""Streams after the oplog rolled over.

Source: jstests/noPassthrough/change_streams_oplog_rollover.js.
"""

import pytest
from bson import Timestamp
from pymongo.errors import OperationFailure

from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client
from tests.unit.support.mongodb.server.streams import (
    WATCHED,
    events,
    fetched,
    kinds,
    now,
    opened,
    refused,
)

_DAWN = Timestamp(1, 1)


def test_complete_oplog_is_read_from_any_time(client: Client, replica_set: object) -> None:
    """An oplog that still begins with the set's initiation has lost nothing."""
    client.shop[WATCHED].insert_one({"_id": 1})
    assert kinds(events(client, startAtOperationTime=_DAWN)) == ["insert"]


def test_lost_oplog_history_is_an_error(client: Client, replica_set: MongoReplicaSet) -> None:
    began, mark = now(client), opened(client)["postBatchResumeToken"]
    client.shop[WATCHED].insert_many([{"_id": 1}, {"_id": 2}])
    open_one = opened(client, startAtOperationTime=_DAWN)
    token = events(client, startAtOperationTime=began)[0]["_id"]
    replica_set.truncate_oplog()
    with pytest.raises(OperationFailure) as raised:
        fetched(client, open_one)
    assert raised.value.code == 136
    for stage in (
        {"resumeAfter": token},
        {"startAfter": token},
        {"resumeAfter": mark},
        {"startAtOperationTime": began},
        {"startAtOperationTime": _DAWN},
    ):
        refused(client, 286, **stage)
