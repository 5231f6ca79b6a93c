"""State files of the MongoDB agent: a stream's position and a snapshot in progress.

shop.customers    STORED documents before the agent, some of them copied
stream            `WRITTEN` documents in all; the last ones are published and not saved
"""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch
from uuid import UUID

import orjson
from pymongo import MongoClient

from tests.support.mongodb.server import MongoReplicaSet
from tests.support.record.folder import new_folder, write_packed
from tests.support.servers.agent_process import AgentProcess

Client = MongoClient[dict[str, Any]]

STORED = 400
STREAMED = 40
WRITTEN = STORED + 3 * STREAMED
CLUSTER_TIME_S = 2_000_000_000
"""Later than now, so that all times are counted from here and are the same in each run."""
_COLLECTION_ID = UUID("5a1c395e-b41f-41e5-9f22-ba0be0483c18")
_NOOP_INTERVAL_S = 86_400.0
_DEADLINE_S = 300


@contextmanager
def customers() -> Iterator[tuple[MongoReplicaSet, Client]]:
    """A replica set with `STORED` documents; equal cluster times and tokens in each run."""
    with (
        patch("tests.support.mongodb.server.context.uuid4", lambda: _COLLECTION_ID),
        MongoReplicaSet(noop_interval_s=_NOOP_INTERVAL_S) as replica_set,
        Client(replica_set.connection_string) as client,
    ):
        replica_set.count_time_from(CLUSTER_TIME_S)
        client.shop.create_collection("customers")
        for number in range(STORED):
            insert(client, number)
        yield replica_set, client


def insert(client: Client, number: int) -> None:
    client.shop.customers.insert_one({"_id": number, "name": f"customer {number}"})


def properties(replica_set: MongoReplicaSet, directory: Path) -> dict[str, object]:
    """Of an agent that keeps its state in `directory`."""
    return {
        "topic.prefix": "shop",
        "mongodb.connection.string": replica_set.connection_string,
        "mongodb.server.selection.timeout.ms": 2000,
        "database.include.list": "shop",
        "offset.backing.store.dir": directory / "offsets",
        "offset.flush.interval.ms": 0,
        "incremental.snapshot.chunk.size": 1,
        "sink": "file",
        "file.path": directory / "events.ndjson",
    }


def published(events: Path) -> list[dict[str, Any]]:
    """Of each event in the file its id, its operation and the document's number."""
    if not events.exists():
        return []
    whole = events.read_bytes().rpartition(b"\n")[0].splitlines()
    found = [orjson.loads(line) for line in whole]
    return [
        {
            "id": each["headers"]["cdc.id"],
            "operation": each["value"]["op"],
            "number": int(json.loads(each["key"]["id"])),
        }
        for each in found
    ]


def record_mongodb(program: Path, target: Path, scratch: Path) -> None:
    """Fill `target` with `offsets` and `published.ndjson.gz`."""
    directory = scratch / "mongodb"
    (directory / "offsets").mkdir(parents=True)
    new_folder(target)
    with customers() as (replica_set, client):
        events = directory / "events.ndjson"
        settings = properties(replica_set, directory)
        agent = AgentProcess(str(program), directory, settings)
        agent.launch()

        def is_copying() -> bool:
            copied = [each for each in published(events) if each["operation"] == "r"]
            return len(copied) > STORED // 8

        agent.wait_until(is_copying, "a part of the snapshot", _DEADLINE_S)
        for number in range(STORED, STORED + STREAMED):
            insert(client, number)
        agent.wait_until(lambda: _has(events, STORED + STREAMED - 1), "the stream", _DEADLINE_S)
        agent.stop()

        late = {**settings, "offset.flush.interval.ms": 86_400_000}
        agent = AgentProcess(str(program), directory, late)
        agent.launch()
        # The first batch is saved at once, the second one is not.
        for batch in (1, 2):
            first = STORED + batch * STREAMED
            for number in range(first, first + STREAMED):
                insert(client, number)
            agent.wait_until(partial(_has, events, first + STREAMED - 1), "a batch", _DEADLINE_S)
        agent.kill()
    copied = {each["number"] for each in published(events) if each["operation"] == "r"}
    assert len(copied) < STORED, "the snapshot ended before the agent was stopped"
    lines = b"".join(orjson.dumps(each) + b"\n" for each in published(events))
    write_packed(target / "published.ndjson.gz", lines)
    (target / "offsets").mkdir()
    for path in sorted((directory / "offsets").glob("*.properties*")):
        shutil.copyfile(path, target / "offsets" / path.name)


def _has(events: Path, number: int) -> bool:
    numbers: set[int] = {each["number"] for each in published(events)}
    return number in numbers
