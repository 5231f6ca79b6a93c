"""Which deployment this is: a replica set, or a sharded cluster behind a mongos."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import pymongo
from bson import Timestamp
from pymongo import MongoClient
from pymongo.errors import OperationFailure, PyMongoError

from mongo_agent.change_stream.tokens import ClusterTime
from mongo_agent.server.errors import server_error
from mongo_agent.server.failures import Failure, classify_failure
from sidecar.errors import ConfigError, UnavailableError

Client = MongoClient[Any]
Told = TypeVar("Told")

LOAD_BALANCED = (
    "`loadBalanced=true`, which sends each command to any mongos, while a change stream lives in "
    "one: leave it out and name the mongos themselves."
)

SHARDED = "sharded"
"""Stands for the name of a replica set where a mongos answers."""

STANDALONE = (
    "This server is no member of a replica set, so it has no change streams: start mongod with "
    "`--replSet rs0` (or `replication.replSetName: rs0`) and run `rs.initiate()` once."
)

_MONGOS = "isdbgrid"
_OLDEST = (4, 2)
# Of servers that have no such command, those of other makers too.
_UNKNOWN_COMMAND = {59, 115, 303}
_SHOWN_MONGOS = 3
_OPLOG_S = 5.0


@dataclass(frozen=True, slots=True)
class Deployment:
    """`cluster` tells deployments apart: the name, and the identity where it may be read.

    `is_shard` is a replica set that is part of a sharded cluster. `holds_configuration` is that of
    the config servers, which has no data of users; `mongos` are the routers that it knows, as far
    as they may be read. `state` is what the one member is that is connected to directly.
    """

    name: str
    cluster: str
    version: tuple[int, ...]
    is_sharded: bool = False
    is_shard: bool = False
    holds_configuration: bool = False
    mongos: tuple[str, ...] = ()
    state: str = "primary"


def discover(client: Client) -> Deployment:
    """Ask the server who it is. Raises ConfigError for a server without change streams,
    RefusedError when it refuses the login, UnavailableError when it does not answer."""
    try:
        hello = _told(client, "hello")
        if client.topology_description.topology_type_name == "LoadBalanced":
            # By the record of `mongodb+srv://`, which is looked up only when it is connected.
            raise ConfigError(f"`mongodb.connection.string` leads to {LOAD_BALANCED}")
        sentence = no_change_streams(hello, str(hello.get("me", "this address")))
        if sentence is not None:
            raise ConfigError(sentence)
        if hello.get("isreplicaset"):
            raise UnavailableError(not_initiated("This member"))
        version = tuple(_told(client, "buildInfo")["versionArray"][:3])
        if hello.get("msg") == _MONGOS:
            return Deployment(SHARDED, _identified(SHARDED, _cluster_id(client)), version, True)
        name = str(hello["setName"])
        is_of_config = bool(hello.get("configsvr"))
        is_shard = _has_data_of_config(client) if is_of_config else _is_shard(client)
        return Deployment(
            name,
            _identified(name, _replica_set_id(client)),
            version,
            is_shard=is_shard,
            holds_configuration=is_of_config and not is_shard,
            mongos=_mongos(client) if is_of_config else (),
            state=_state(hello),
        )
    except PyMongoError as error:
        raise server_error(error) from error


def unsupported_release(version: tuple[int, ...]) -> str | None:
    """A sentence for a release that cannot be followed without a gap. Before MongoDB 4.2 nothing
    goes on behind a dropped collection (`startAfter`), and tokens may be bytes of another form."""
    if version >= _OLDEST:
        return None
    release = ".".join(map(str, version))
    return (
        f"MongoDB {release} cannot go on behind a dropped collection (`startAfter`), and its "
        "resume tokens have another form: use MongoDB 4.2 or later."
    )


def no_change_streams(hello: Mapping[str, Any], address: str) -> str | None:
    """A sentence for a server that never has change streams, by its answer to `hello`."""
    if hello.get("msg") == _MONGOS or hello.get("isreplicaset"):
        return None
    if hello.get("setName") is None:
        return STANDALONE
    if hello.get("arbiterOnly"):
        return (
            f"The member at {address} is an arbiter, which has no data and so no change streams: "
            "name a member with data in `mongodb.hosts`, or leave `directConnection` and "
            "`mongodb.members.auto.discover=false` out, so that the others are found by it."
        )
    return None


def not_initiated(member: str) -> str:
    """For a mongod with `--replSet` that nobody made a replica set of yet; it is waited for."""
    return (
        f"{member} waits to become a replica set: run `rs.initiate()` there once, in mongosh; the "
        "agent goes on by itself then."
    )


def deployment_error(deployment: Deployment, wanted: str, address: str) -> str | None:
    """A sentence for a deployment that the agent cannot follow, or that `mongodb.deployment` does
    not allow; `wanted` is its value, `address` what was connected to."""
    old = unsupported_release(deployment.version)
    if old is not None:
        return old
    if deployment.holds_configuration:
        named = ", ".join(deployment.mongos[:_SHOWN_MONGOS])
        found = f" (it knows {named})" if named else ""
        return (
            f"The replica set {deployment.name} at {address} is that of the config servers of a "
            f"sharded cluster and has no data of users: name a mongos of the cluster{found} in "
            "`mongodb.hosts` or `mongodb.connection.string`."
        )
    if deployment.is_shard and wanted != "shard":
        return (
            f"The replica set {deployment.name} is a shard of a sharded cluster: name a mongos in "
            "`mongodb.hosts`, or set `mongodb.deployment=shard` and run an agent beside each shard "
            "(docs/how-to/mongodb-agent.md says what that means for order)."
        )
    found = "mongos" if deployment.is_sharded else "replica_set"
    if wanted in ("replica_set", "mongos") and wanted != found:
        return f"`mongodb.deployment={wanted}`, but a {found} answers at {address}."
    return None


def oldest_oplog_time(client: Client) -> ClusterTime | None:
    """The time of the oplog's first entry; None where it may not be read, as behind a mongos, or
    nobody answers soon."""
    with suppress(PyMongoError), pymongo.timeout(_OPLOG_S):
        entry = client.local["oplog.rs"].find_one({}, {"ts": 1}, sort=[("$natural", 1)])
        if entry is not None and isinstance(entry.get("ts"), Timestamp):
            return ClusterTime(entry["ts"].time, entry["ts"].inc)
    return None


def _told(client: Client, command: str) -> Mapping[str, Any]:
    """By a server that may be read from."""
    reply: Mapping[str, Any] = client.admin.command(command, read_preference=client.read_preference)
    return reply


def _identified(name: str, identity: str | None) -> str:
    return name if identity is None else f"{name}/{identity}"


def _state(hello: Mapping[str, Any]) -> str:
    if hello.get("isWritablePrimary"):
        return "primary"
    if hello.get("hidden"):
        return "hidden secondary"
    return "secondary" if hello.get("secondary") else "member that recovers"


def _where_allowed(ask: Callable[[], Told]) -> Told | None:
    """None where the user may not know; every other failure is one, since what is not known now
    and then would make another deployment of the same one."""
    try:
        return ask()
    except OperationFailure as error:
        is_refused = classify_failure(error.code) is Failure.AUTHORISATION
        if is_refused or error.code in _UNKNOWN_COMMAND:
            return None
        raise


def _replica_set_id(client: Client) -> str | None:
    """Needs the privilege of `replSetGetConfig`."""
    told = _where_allowed(lambda: _told(client, "replSetGetConfig"))
    identity = None if told is None else told["config"].get("settings", {}).get("replicaSetId")
    return None if identity is None else str(identity)


def _cluster_id(client: Client) -> str | None:
    """Needs to read `config.version`."""
    version = _where_allowed(lambda: client.config.version.find_one())
    return None if version is None else str(version.get("clusterId"))


def _is_shard(client: Client) -> bool:
    """Needs to read `admin.system.version`; False where that is not allowed."""
    identity = {"_id": "shardIdentity"}
    return _where_allowed(lambda: client.admin["system.version"].find_one(identity)) is not None


def _has_data_of_config(client: Client) -> bool:
    """Whether config servers are a shard as well (a config shard, from MongoDB 8.0 on). Needs to
    read `config.shards`."""
    return _where_allowed(lambda: client.config.shards.find_one({"_id": "config"})) is not None


def _mongos(client: Client) -> tuple[str, ...]:
    """The routers that config servers know, those that were heard of last first."""
    told = _where_allowed(
        lambda: list(
            client.config.mongos.find({}, {"_id": 1}).sort("ping", -1).limit(_SHOWN_MONGOS)
        )
    )
    return tuple(str(each["_id"]) for each in told or ())
