"""Commands of a router about its shards, and the collections of its `config` database."""

from collections.abc import Iterator
from datetime import UTC, datetime

from bson import Binary

from tests.support.mongodb.server.commands.command import Command
from tests.support.mongodb.server.context import Context
from tests.support.mongodb.server.deployment import Deployment
from tests.support.mongodb.server.errors import CommandError
from tests.support.mongodb.server.oplog import Change
from tests.support.mongodb.server.wire import Document


def config_documents(router: Deployment, collection: str) -> Iterator[Document]:
    """What `config.shards`, `mongos` and `collections` say; other collections are empty."""
    if collection == "shards":
        for shard in router.shards:
            topology = shard.topology
            hosts = ",".join(member.name for member in topology.members)
            host = f"{topology.set_name}/{hosts}"
            since = {} if shard.added is None else {"topologyTime": shard.added}
            yield {"_id": topology.set_name, "host": host, "state": 1, **since}
    if collection == "mongos":
        for member in router.topology.members:
            yield {"_id": member.name, "ping": datetime.now(UTC)}
    if collection == "collections":
        for namespace, fields in router.sharding.keys.items():
            found = router.store.collection(namespace)
            assert found is not None
            uuid = Binary(found.uuid.bytes, 4)
            key = dict.fromkeys(fields, 1)
            yield {"_id": ".".join(namespace), "uuid": uuid, "key": key, "unique": False}


def _check_router(context: Context) -> None:
    if not context.deployment.is_router:
        raise CommandError(59, f"no such command: '{context.name}'")


def _shard_collection(context: Context) -> Document:
    _check_router(context)
    database, _, name = str(context.body["shardCollection"]).partition(".")
    namespace = (database, name)
    collection = context.created(namespace)
    context.deployment.sharding.keys[namespace] = tuple(context.body["key"])
    context.deployment.place_anew(namespace)
    description = {"shardKey": context.body["key"], "unique": False}
    context.commit(
        Change("shardCollection", *namespace, uuid=collection.uuid, description=description)
    )
    return {"collectionsharded": ".".join(namespace)}


def _add_shard(context: Context) -> Document:
    """For a shard that the cluster was made with."""
    _check_router(context)
    name, _, _ = str(context.body["addShard"]).partition("/")
    if name not in {shard.topology.set_name for shard in context.deployment.shards}:
        raise CommandError(20, f"no shard {name} can be added")
    return {"shardAdded": name}


COMMANDS = {
    "addShard": Command(_add_shard, "addShard"),
    "shardCollection": Command(_shard_collection, "enableSharding", is_write=True),
}
