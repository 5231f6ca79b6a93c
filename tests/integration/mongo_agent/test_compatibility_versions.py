"""A server whose feature compatibility version is below its release, during an upgrade and after a
downgrade."""

import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pymongo.errors import OperationFailure

from mongo_agent.check.checks import CHECKS
from mongo_agent.check.probe import open_probe
from sidecar.errors import ConfigError, UnavailableError
from tests.support.mongodb.running_agent import RunAgent, RunningAgent
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client

SCHEMA = {"topic.schema.changes": "p.schema"}
IMAGES: dict[str, Any] = {"changeStreamPreAndPostImages": {"enabled": True}}
_COMMAND = re.compile(r"`db\.adminCommand\((\{.*?\})\)`")


@pytest.fixture
def upgraded(tmp_path: Path) -> Iterator[tuple[RunAgent, Client, MongoReplicaSet]]:
    with (
        MongoReplicaSet(version="6.0.19") as replica_set,
        Client(replica_set.connection_string) as client,
    ):
        set_compatibility(client, "5.0")
        yield (
            partial(RunningAgent, tmp_path / "offsets", replica_set.connection_string),
            client,
            replica_set,
        )


def set_compatibility(client: Client, version: str) -> None:
    client.admin.command("setFeatureCompatibilityVersion", version)


def findings_of(agent: RunningAgent) -> dict[str, str]:
    with open_probe(agent.configuration()) as probe:
        (check,) = (each for each in CHECKS if each.name == "deployment")
        return {each.code: each.remedy for each in check.find(probe)}


def execute(remedy: str, client: Client) -> None:
    (command,) = _COMMAND.findall(remedy)
    client.admin.command(json.loads(re.sub(r"(\w+):", r'"\1":', command)))


def test_restricted_server_is_read_and_its_remedy_lifts_the_restriction(
    upgraded: tuple[RunAgent, Client, MongoReplicaSet],
) -> None:
    run, client, replica_set = upgraded
    with run(SCHEMA).streaming() as agent:
        client.shop.create_collection("a")
        client.shop.a.insert_one({"_id": 1})
        client.shop.a.rename("b")
        published = agent.wait_for(2)
        remedy = findings_of(agent)["server_without_expanded_events"]
        cursors = replica_set.open_cursors
    assert [each.kind for each in published] == ["insert", "schema"]
    assert cursors == 1, "probes close their streams"
    execute(remedy, client)
    with run(SCHEMA).streaming() as agent:
        client.shop.create_collection("c")
        (created,) = agent.wait_for(1)
        assert "server_without_expanded_events" not in findings_of(agent)
    assert created.value["operation"] == "create"


def test_images_on_a_restricted_server_are_rejected_with_a_remedy(
    upgraded: tuple[RunAgent, Client, MongoReplicaSet],
) -> None:
    run, client, _ = upgraded
    with pytest.raises(OperationFailure, match="compatibility"):
        client.shop.create_collection("a", **IMAGES)
    with run({"capture.mode": "change_streams_with_pre_image"}) as agent:
        error = agent.wait_until_ended()
    assert isinstance(error, ConfigError)
    assert "feature compatibility version below 6.0 has no pre- and post-images" in str(error)
    execute(str(error), client)
    client.shop.create_collection("a", **IMAGES)
    with run({"capture.mode": "change_streams_with_pre_image"}).streaming() as agent:
        client.shop.a.insert_one({"_id": 1})
        client.shop.a.delete_one({"_id": 1})
        _, deleted, *_ = agent.wait_for(2)
    assert deleted.value["before"] is not None


def test_downgrade_under_an_open_stream_loses_no_event(
    upgraded: tuple[RunAgent, Client, MongoReplicaSet],
) -> None:
    """A stream lasts as long as its cursor; the next process opens one without the feature."""
    run, client, replica_set = upgraded
    set_compatibility(client, "6.0")
    client.shop.create_collection("a", **IMAGES)
    with pytest.raises(OperationFailure, match="Cannot downgrade"):
        set_compatibility(client, "5.0")
    client.shop.command("collMod", "a", changeStreamPreAndPostImages={"enabled": False})
    with run({**SCHEMA, "connect.max.attempts": 2}).streaming() as agent:
        set_compatibility(client, "5.0")
        client.shop.a.insert_one({"_id": 1})
        agent.wait_for(1)
        replica_set.kill_cursors()
        client.shop.a.insert_one({"_id": 2})
        error = agent.wait_until_ended()
    assert isinstance(error, UnavailableError)
    assert "showExpandedEvents" in str(error)
    with run(SCHEMA) as agent:
        assert [each.id for each in agent.wait_for(1)] == [2]
