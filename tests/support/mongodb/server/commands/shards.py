"""Commands of a router about its shards, and the collections of its `config` database."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from uuid import uuid4

from bson import Binary, Int64

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


def _reshard_collection(context: Context) -> Document:
    """Also `moveCollection` and `unshardCollection`, which the server runs alike. Every document
    moves into a collection of another UUID, which takes the name."""
    _check_router(context)
    release, provenance = context.deployment.topology.release, context.name
    if not (release.moves_collections if provenance != "reshardCollection" else release.reshards):
        raise CommandError(59, f"no such command: '{provenance}'")
    database, _, name = str(context.body[provenance]).partition(".")
    namespace, sharding = (database, name), context.deployment.sharding
    collection, old_key = context.collection(namespace), sharding.keys.get(namespace)
    if collection is None:
        raise CommandError(26, f"Namespace {database}.{name} not found")
    if (old_key is None) != (provenance == "moveCollection"):
        raise CommandError(118, f"Namespace {database}.{name} must be unsharded or sharded")
    new_key = context.body.get("key", {"_id": 1})
    reshard_uuid = uuid4()
    begin = Change(
        "reshardBegin",
        *namespace,
        uuid=collection.uuid,
        description={"reshardingUUID": Binary(reshard_uuid.bytes, 4)},
    )
    context.commit(begin)
    description = {
        "reshardUUID": Binary(reshard_uuid.bytes, 4),
        "shardKey": new_key,
        "oldShardKey": dict.fromkeys(old_key or ("_id",), 1),
        "unique": False,
        "numInitialChunks": Int64(context.body.get("numInitialChunks", 1)),
        **({"provenance": provenance} if release.moves_collections else {}),
    }
    context.commit(replace(begin, operation="reshardCollection", description=description))
    if provenance == "reshardCollection":
        sharding.keys[namespace] = tuple(new_key)
    else:
        sharding.keys.pop(namespace, None)
        sharding.moved[namespace] = _shard_number(context)
    context.deployment.place_anew(namespace)
    return {}


def _shard_number(context: Context) -> int:
    names = [shard.topology.set_name for shard in context.deployment.shards]
    wanted = str(context.body.get("toShard", names[0]))
    if wanted not in names:
        raise CommandError(70, f"Shard {wanted} not found")
    return names.index(wanted)


def _add_shard(context: Context) -> Document:
    """For a shard that the cluster was made with."""
    _check_router(context)
    name, _, _ = str(context.body["addShard"]).partition("/")
    if name not in {shard.topology.set_name for shard in context.deployment.shards}:
        raise CommandError(20, f"no shard {name} can be added")
    return {"shardAdded": name}


COMMANDS = {
    "addShard": Command(_add_shard, "addShard"),
    "moveCollection": Command(_reshard_collection, "enableSharding", is_write=True),
    "reshardCollection": Command(_reshard_collection, "enableSharding", is_write=True),
    "shardCollection": Command(_shard_collection, "enableSharding", is_write=True),
    "unshardCollection": Command(_reshard_collection, "enableSharding", is_write=True),
}
