"""The memory that MongoDB 9.0 allows one operation: fewer events at a time, then the policy."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random

import bson
import pytest

from sidecar.errors import SidecarError
from tests.support.mongodb.running_agent import RunAgent, RunningAgent
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client
from tests.support.mongodb.server.wire import Document
from tests.support.seeds import draw_seed

LIMIT_BYTES = 20_000
SKIP = {"cursor.oversize.handling.mode": "skip"}


@pytest.fixture
def limited(tmp_path: Path) -> Iterator[tuple[RunAgent, Client]]:
    with (
        MongoReplicaSet(version="9.0.4") as replica_set,
        Client(replica_set.connection_string) as client,
    ):
        replica_set.limit_memory(LIMIT_BYTES)
        yield partial(RunningAgent, tmp_path / "offsets", replica_set.connection_string), client


def write_updates(client: Client, documents: list[Document]) -> None:
    client.shop.a.insert_many([{"_id": each["_id"]} for each in documents])
    for each in documents:
        client.shop.a.update_one({"_id": each["_id"]}, {"$set": {"text": each["text"]}})


def drawn_documents(count: int) -> list[Document]:
    random = Random(draw_seed())
    sizes = (random.randrange(int(LIMIT_BYTES * 1.3)) for _ in range(count))
    return [{"_id": number, "text": "x" * size} for number, size in enumerate(sizes)]


def test_updates_within_the_limit_are_published_and_others_counted(
    limited: tuple[RunAgent, Client],
) -> None:
    run, client = limited
    documents = drawn_documents(40)
    fitting = [each for each in documents if len(bson.encode(each)) <= LIMIT_BYTES]
    with run(SKIP).streaming() as agent:
        client.shop.a.insert_one({"_id": -1})
        agent.wait_for(1)
    # Replies after a stop contain as many events as the server finds.
    write_updates(client, documents)
    with run(SKIP) as agent:
        published = agent.wait_for(len(documents) + len(fitting))
        skipped = len(documents) - len(fitting)
        counted = b'cdc_skipped_events_total{reason="too large"} %d.0' % skipped
        if skipped:
            agent.wait_until(lambda: counted in agent.service.status.metrics(), "the count")
    updates = [each.after for each in published if each.kind == "update"]
    assert updates == fitting
    assert [each.id for each in published if each.kind == "insert"] == [
        each["_id"] for each in documents
    ]


@pytest.mark.parametrize("mode", ["fail", "split"])
def test_update_above_the_limit_ends_the_agent_with_the_parameter(
    mode: str, limited: tuple[RunAgent, Client]
) -> None:
    run, client = limited
    with run({"cursor.oversize.handling.mode": mode}).streaming() as agent:
        write_updates(client, [{"_id": 1, "text": "x" * LIMIT_BYTES}])
        error = agent.wait_until_ended()
    assert isinstance(error, SidecarError)
    assert "internalQueryMaxMemoryUsageBytesPerOperation" in str(error)
    assert "`cursor.oversize.handling.mode=skip`" in str(error)
