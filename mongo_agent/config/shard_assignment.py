"""The shard of a task, for `mongodb.connection.mode=replica_set` with a mongos or config server.

Each task reads one shard, as if the properties contained its members. Tasks know their numbers and
need no coordination, because they all read the same list.
"""

from dataclasses import dataclass, replace

from pymongo import MongoClient

from mongo_agent.config.client import settings_of_set
from mongo_agent.config.loading import MongoConfig
from mongo_agent.documents import NEVER
from mongo_agent.server.catalogue import Shard, list_shards, shard_of_task
from mongo_agent.server.deployment import discover


@dataclass(frozen=True, slots=True)
class Assignment:
    """The configuration for the shard of a task, or None for a task without a shard.

    `shards` are all shards of the cluster, in the order of tasks; empty for a plain replica set.
    """

    config: MongoConfig | None
    shards: tuple[Shard, ...] = ()


def assign_shard(config: MongoConfig, answer_ms: int) -> Assignment:
    """Read the list of shards, waiting at most `answer_ms` for a server.

    Raises the errors of `discover` and `list_shards`.
    """
    properties = config.properties
    if properties.connection_mode != "replica_set":
        return Assignment(config)
    with MongoClient(**config.client.prompt(answer_ms)) as client:
        deployment = discover(client)
        if not (deployment.is_sharded or deployment.is_config_server):
            return Assignment(config if properties.task_id == 0 else None)
        shards = list_shards(client)
    shard = shard_of_task(shards, properties.task_id)
    return Assignment(None if shard is None else config_at_shard(config, shard), shards)


def config_at_shard(config: MongoConfig, shard: Shard, *, is_new: bool = False) -> MongoConfig:
    """Derive the configuration for a shard.

    `is_new`: this agent has seen the cluster without the shard. A stream without an offset then
    starts at the time when the shard was added, before its first chunk arrived.
    """
    client = settings_of_set(config.client, shard.replica_set, shard.hosts)
    start = config.start_time
    if shard.added is not None and (is_new or start):
        start = max(start or NEVER, shard.added)
    return replace(config, client=client, seeds=config.client, shard=shard, start_time=start)
