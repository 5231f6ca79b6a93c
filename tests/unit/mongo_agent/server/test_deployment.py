"""The agent's reports about each topology that an operator may point it at."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mongo_agent.server.deployment import Deployment, deployment_error, discover
from sidecar.errors import AccessDeniedError, ConfigError, UnavailableError
from tests.support.mongodb.running_agent import RunningAgent
from tests.support.mongodb.server import MongoReplicaSet, MongoShardedCluster, User
from tests.support.mongodb.server.client import Client

pytestmark = pytest.mark.heavy


@pytest.fixture(scope="module")
def mixed() -> Iterator[MongoReplicaSet]:
    """A primary, a visible secondary, an arbiter and a hidden secondary."""
    with MongoReplicaSet(members=2, arbiters=1, hidden=1) as started:
        yield started


def alone(address: str, options: str = "") -> str:
    return f"mongodb://{address}/?directConnection=true{options}"


def sentence_of_start(directory: Path, connection_string: str, **properties: Any) -> str:
    """The error message with which the agent exits."""
    with RunningAgent(directory, connection_string, **properties) as agent:
        error = agent.wait_until_ended()
    assert isinstance(error, ConfigError)
    return str(error)


def test_config_servers_are_rejected_and_report_known_routers(tmp_path: Path) -> None:
    """MongoDB's old manuals pointed connectors at config servers."""
    with MongoReplicaSet(name="configRepl", is_config_server=True) as config_servers:
        with Client(config_servers.connection_string) as client:
            client.config.mongos.insert_many(
                [{"_id": "router-1:27017", "ping": 1}, {"_id": "router-2:27017", "ping": 2}]
            )
            found = discover(client)
            client.config.shards.insert_one({"_id": "config"})
            with_data = discover(client)
            client.config.shards.delete_many({})
        assert found.holds_configuration
        assert not found.is_shard
        assert (with_data.holds_configuration, with_data.is_shard) == (False, True)
        sentence = sentence_of_start(tmp_path, config_servers.connection_string)
    assert "configRepl at 127.0.0.1" in sentence
    assert "config servers" in sentence
    assert "Name a mongos of the cluster (such as router-2:27017, router-1:27017)" in sentence


def test_config_servers_with_data_are_a_shard() -> None:
    shard = Deployment("config", "config", (8, 0, 0), is_shard=True)
    assert deployment_error(shard, "shard", "a:1") is None
    assert "is a shard" in (deployment_error(shard, "auto", "a:1") or "")


def test_direct_connection_to_arbiter_is_rejected(tmp_path: Path, mixed: MongoReplicaSet) -> None:
    sentence = sentence_of_start(tmp_path, alone(mixed.members[2]))
    assert f"The member at {mixed.members[2]} is an arbiter" in sentence
    assert "`directConnection`" in sentence


def test_arbiter_without_users_is_not_a_login_error(tmp_path: Path) -> None:
    with MongoReplicaSet(arbiters=1, users=[User("cdc", "secret")]) as replica_set:
        address = f"cdc:secret@{replica_set.members[1]}"
        sentence = sentence_of_start(tmp_path, alone(address))
    assert "is an arbiter" in sentence


def test_agent_finds_members_through_arbiter(tmp_path: Path, mixed: MongoReplicaSet) -> None:
    string = f"mongodb://{mixed.members[2]}/?replicaSet=rs0"
    with RunningAgent(tmp_path, string) as agent:
        agent.wait_until_streaming()


def test_direct_connection_reports_member_datacenter_and_rack() -> None:
    tags = [{"dc": "east", "rack": "r1", "use": "reports"}]
    with MongoReplicaSet(members=2, tags=tags) as server:
        first, second = server.members
        with Client(alone(first)) as direct:
            found = discover(direct)
        assert (found.name, found.member, found.datacenter, found.rack) == (
            *("rs0", first, "east", "r1"),
        )
        with Client(alone(second)) as direct:
            found = discover(direct)
        assert (found.member, found.datacenter, found.rack) == (second, None, None)
        with Client(server.connection_string) as whole:
            found = discover(whole)
        assert (found.member, found.datacenter, found.rack) == (None, None, None)


@pytest.mark.parametrize("number", [1, 3], ids=["secondary", "hidden"])
def test_agent_of_secondary_reads_only_that_member(
    tmp_path: Path, mixed: MongoReplicaSet, number: int
) -> None:
    """A direct connection, as from a sidecar in a member's pod."""
    address = mixed.members[number]
    with (
        Client(mixed.connection_string) as writer,
        Client(alone(address)) as direct,
        RunningAgent(tmp_path, alone(address), {"snapshot.mode": "initial"}) as agent,
    ):
        kinds = {1: "secondary", 3: "hidden secondary"}
        assert discover(direct).state == kinds[number]
        agent.wait_until_streaming()
        writer.shop[f"of_{number}"].insert_one({"_id": number})
        agent.wait_until(lambda: number in [each.id for each in agent.of_documents()], "the event")


def test_agent_waits_for_uninitiated_member(tmp_path: Path) -> None:
    with MongoReplicaSet(is_initiated=False) as replica_set:
        hasty = {"mongodb.server.selection.timeout.ms": 300}
        for string in (replica_set.connection_string, alone(replica_set.members[0])):
            with RunningAgent(tmp_path, string, hasty) as agent:
                agent.wait_until(
                    lambda agent=agent: "`rs.initiate()`" in agent.service.status.ready().message,
                    "a sentence that says what to do",
                )
        with RunningAgent(tmp_path, replica_set.connection_string, hasty) as agent:
            replica_set.initiate()
            agent.wait_until_streaming()


def test_agent_waits_for_shard_unreachable_by_router(tmp_path: Path) -> None:
    patience = {"connect.max.attempts": 1000}
    with (
        MongoShardedCluster() as cluster,
        Client(cluster.connection_string) as router,
        RunningAgent(tmp_path, cluster.connection_string, patience).streaming() as agent,
    ):
        router.shop.a.insert_one({"_id": 1})
        agent.wait_for(1)
        data = {"failCommands": ["aggregate", "getMore"], "errorCode": 133}
        router.admin.command("configureFailPoint", "failCommand", mode="alwaysOn", data=data)
        agent.wait_until(
            lambda: "reopens the change stream" in agent.service.status.ready().message,
            "a stream that is not read any more",
        )
        router.shop.a.insert_one({"_id": 2})
        router.admin.command("configureFailPoint", "failCommand", mode="off")
        assert [each.id for each in agent.wait_for(2)] == [1, 2]


def test_load_balancer_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has `loadBalanced=true`, which sends"):
        RunningAgent(tmp_path, "mongodb://127.0.0.1:1/?loadBalanced=true")


@pytest.mark.parametrize(
    ("version", "properties", "part"),
    [
        ("4.0.28", {}, "Use MongoDB 4.2 or later"),
        (
            "5.0.3",
            {"capture_mode": "change_streams_with_pre_image"},
            "`capture.mode` requires them. Use MongoDB 6.0",
        ),
    ],
)
def test_release_without_requested_feature_is_rejected(
    tmp_path: Path, version: str, properties: dict[str, object], part: str
) -> None:
    if version.startswith("4.0"):
        found = Deployment("rs0", "rs0", (4, 0, 28))
        assert part in (deployment_error(found, "auto", "a:1") or "")
        return
    with MongoReplicaSet(version=version) as replica_set:
        assert part in sentence_of_start(tmp_path, replica_set.connection_string, **properties)


def test_unreadable_cluster_identity_is_retried() -> None:
    """A router without its config servers does not know the id of its cluster, so the agent
    waits."""
    with MongoShardedCluster() as cluster, Client(cluster.connection_string) as router:
        data = {"failCommands": ["find"], "errorCode": 6}
        router.admin.command("configureFailPoint", "failCommand", mode="alwaysOn", data=data)
        with pytest.raises(UnavailableError):
            discover(router)
        data = {"failCommands": ["find"], "errorCode": 13}
        router.admin.command("configureFailPoint", "failCommand", mode="alwaysOn", data=data)
        assert discover(router).cluster == "sharded"
        data = {"failCommands": ["hello"], "errorCode": 13}
        router.admin.command("configureFailPoint", "failCommand", mode="alwaysOn", data=data)
        with pytest.raises(AccessDeniedError):
            discover(router)
