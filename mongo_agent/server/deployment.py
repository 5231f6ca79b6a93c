"""Discovery of the deployment: a replica set, or a sharded cluster through a mongos."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import pymongo
from bson import Timestamp
from pymongo.collection import Collection
from pymongo.errors import OperationFailure, PyMongoError

from mongo_agent.documents import ClusterTime
from mongo_agent.server.commands import Client, decode_replies, run_command
from mongo_agent.server.errors import Failure, classify_failure, server_error
from mongo_agent.server.releases import Version, unsupported_release
from sidecar.errors import ConfigError, UnavailableError

T = TypeVar("T")

LOAD_BALANCED = (
    "`loadBalanced=true`, which sends each command to any mongos; a change stream needs a fixed "
    "mongos. Remove the option and list the mongos."
)

SHARDED = "sharded"
"""Used instead of a replica set name for a sharded cluster."""

STANDALONE = (
    "The server is not a member of a replica set and has no change streams. Start mongod with "
    "`--replSet rs0` (or `replication.replSetName: rs0`) and run `rs.initiate()` once."
)

MONGOS = "isdbgrid"
# Reported for unknown commands, also by compatible databases.
_UNKNOWN_COMMAND = {59, 115, 303}
_SHOWN_MONGOS = 3
_OPLOG_S = 5.0


@dataclass(frozen=True, slots=True)
class Deployment:
    """A replica set, a shard, or a sharded cluster.

    `cluster` identifies the deployment: its name, and its id if the user may read it. `is_shard`
    marks a shard's replica set. `is_config_server` marks the replica set of the config servers, and
    `holds_configuration` marks config servers without user data; `mongos` lists the routers that
    they know. `state` is the state of the member on a direct connection; `member` is its address,
    and `datacenter` and `rack` are its tags `dc` and `rack`.
    """

    name: str
    cluster: str
    version: Version
    is_sharded: bool = False
    is_shard: bool = False
    holds_configuration: bool = False
    is_config_server: bool = False
    mongos: tuple[str, ...] = ()
    state: str = "primary"
    member: str | None = None
    datacenter: str | None = None
    rack: str | None = None


def discover(client: Client) -> Deployment:
    """Query the server for its deployment.

    Raises ConfigError for a server without change streams, AccessDeniedError for a rejected
    login, and UnavailableError if the server does not answer.
    """
    try:
        with decode_replies():
            return _discover(client)
    except PyMongoError as error:
        raise server_error(error) from error


def _discover(client: Client) -> Deployment:
    hello = run_command(client, "hello")
    if client.topology_description.topology_type_name == "LoadBalanced":
        # Set by the DNS record of `mongodb+srv://`, which the driver resolves on connect.
        raise ConfigError(f"`mongodb.connection.string` resolves to {LOAD_BALANCED}")
    reason = no_change_streams(hello, str(hello.get("me", "this address")))
    if reason is not None:
        raise ConfigError(reason)
    if hello.get("isreplicaset"):
        raise UnavailableError(not_initiated("The member"))
    version = _version(run_command(client, "buildInfo"))
    if hello.get("msg") == MONGOS:
        found = _find_one(client.config.version)
        identity = None if found is None else str(found.get("clusterId"))
        return Deployment(SHARDED, _identified(SHARDED, identity), version, True)
    name = str(hello["setName"])
    is_of_config = bool(hello.get("configsvr"))
    # Config servers may also be a shard (a config shard, since MongoDB 8.0).
    is_shard = (
        _find_one(client.config.shards, "config")
        if is_of_config
        else _find_one(client.admin["system.version"], "shardIdentity")
    ) is not None
    is_direct = client.topology_description.topology_type_name == "Single"
    tags = hello.get("tags", {}) if is_direct else {}
    return Deployment(
        name,
        _identified(name, _replica_set_id(client)),
        version,
        is_shard=is_shard,
        holds_configuration=is_of_config and not is_shard,
        is_config_server=is_of_config,
        mongos=_mongos(client) if is_of_config else (),
        state=_state(hello),
        member=hello.get("me") if is_direct else None,
        datacenter=tags.get("dc"),
        rack=tags.get("rack"),
    )


def _version(build_info: Mapping[str, Any]) -> Version:
    version = build_info["versionArray"]
    if not isinstance(version, list) or not all(isinstance(each, int) for each in version):
        raise TypeError(f"`versionArray` is {version!r}")
    return tuple(version[:3])


def no_change_streams(hello: Mapping[str, Any], address: str) -> str | None:
    """Return an error if a server can never have change streams, from its reply to `hello`."""
    if hello.get("msg") == MONGOS or hello.get("isreplicaset"):
        return None
    if hello.get("setName") is None:
        return STANDALONE
    if hello.get("arbiterOnly"):
        return (
            f"The member at {address} is an arbiter, which has no data and no change streams. Name "
            "a data-bearing member in `mongodb.hosts`, or remove `directConnection` and "
            "`mongodb.members.auto.discover=false` to discover the other members."
        )
    return None


def not_initiated(member: str) -> str:
    """Return the error for a mongod with `--replSet` before `rs.initiate()`."""
    return (
        f"{member} is not initiated as a replica set. Run `rs.initiate()` there in mongosh; the "
        "agent then continues."
    )


def deployment_error(deployment: Deployment, wanted: str, address: str) -> str | None:
    """Return an error if the deployment is unsupported, or excluded by `mongodb.deployment`.

    `wanted` is the value of that property, `address` the address of the connection.
    """
    old = unsupported_release(deployment.version)
    if old is not None:
        return old
    if deployment.holds_configuration:
        named = ", ".join(deployment.mongos[:_SHOWN_MONGOS])
        found = f" (such as {named})" if named else ""
        return (
            f"The replica set {deployment.name} at {address} belongs to the config servers of a "
            f"sharded cluster and has no user data. Name a mongos of the cluster{found} in "
            "`mongodb.hosts` or `mongodb.connection.string`."
        )
    if deployment.is_shard and wanted != "shard":
        return (
            f"The replica set {deployment.name} is a shard of a sharded cluster. Name a mongos in "
            "`mongodb.hosts`, or set `mongodb.deployment=shard` and run one agent for each shard "
            "(docs/how-to/mongodb-agent.md describes the effect on order)."
        )
    found = "mongos" if deployment.is_sharded else "replica_set"
    if wanted in ("replica_set", "mongos") and wanted != found:
        return (
            f"`mongodb.deployment={wanted}`, but a {found} answers at {address}. Correct the "
            "property or the address."
        )
    return None


def read_oldest_oplog_time(client: Client) -> ClusterTime | None:
    """Return the time of the oldest oplog entry.

    Returns None if the privilege is missing, on a mongos, or if the server does not answer in time.
    """
    with suppress(PyMongoError), decode_replies(), pymongo.timeout(_OPLOG_S):
        entry = client.local["oplog.rs"].find_one({}, {"ts": 1}, sort=[("$natural", 1)])
        if entry is not None and isinstance(entry.get("ts"), Timestamp):
            return ClusterTime(entry["ts"].time, entry["ts"].inc)
    return None


def _identified(name: str, identity: str | None) -> str:
    return name if identity is None else f"{name}/{identity}"


def _state(hello: Mapping[str, Any]) -> str:
    if hello.get("isWritablePrimary"):
        return "primary"
    if hello.get("hidden"):
        return "hidden secondary"
    return "secondary" if hello.get("secondary") else "recovering member"


def _if_permitted(ask: Callable[[], T]) -> T | None:
    """Return the result of `ask`, or None if the privilege or the command is missing.

    Raises other failures, because an intermittently missing id would change the identity.
    """
    try:
        with decode_replies():
            return ask()
    except OperationFailure as error:
        is_denied = classify_failure(error) is Failure.AUTHORISATION
        if is_denied or error.code in _UNKNOWN_COMMAND:
            return None
        raise


def _replica_set_id(client: Client) -> str | None:
    """Requires the privilege `replSetGetConfig`."""
    reply = _if_permitted(lambda: run_command(client, "replSetGetConfig"))
    identity = None if reply is None else reply["config"].get("settings", {}).get("replicaSetId")
    return None if identity is None else str(identity)


def _find_one(collection: Collection[Any], identity: str | None = None) -> Any | None:
    """Find the document with an `_id`, or any document; None without read access."""
    return _if_permitted(lambda: collection.find_one(identity))


def _mongos(client: Client) -> tuple[str, ...]:
    """List the routers known to the config servers, most recently seen first."""
    reply = _if_permitted(
        lambda: list(
            client.config.mongos.find({}, {"_id": 1}).sort("ping", -1).limit(_SHOWN_MONGOS)
        )
    )
    return tuple(str(each["_id"]) for each in reply or ())
