"""Which deployment this is: a replica set, or a sharded cluster behind a mongos."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from bson import Timestamp
from pymongo import MongoClient
from pymongo.errors import ConfigurationError, OperationFailure, PyMongoError

from mongo_agent.change_stream.cursor import said
from mongo_agent.change_stream.failures import Failure, failure_of
from mongo_agent.change_stream.recovery import STANDALONE
from mongo_agent.change_stream.tokens import ClusterTime
from sidecar.errors import ConfigError, RefusedError, SidecarError, UnavailableError

Client = MongoClient[Any]
SHARDED = "sharded"
"""Stands for the name of a replica set where a mongos answers."""

_MONGOS = "isdbgrid"
_OLDEST = (4, 2)


@dataclass(frozen=True, slots=True)
class Deployment:
    """`cluster` tells deployments apart: the name, and the identity where it may be read.

    `is_shard` is a replica set that is part of a sharded cluster.
    """

    name: str
    cluster: str
    version: tuple[int, ...]
    is_sharded: bool = False
    is_shard: bool = False


def look(client: Client) -> Deployment:
    """Ask the server who it is. Raises ConfigError for a server without change streams,
    RefusedError when it refuses the login, UnavailableError when it does not answer."""
    try:
        hello: Mapping[str, Any] = client.admin.command("hello")
        version = tuple(client.server_info()["versionArray"][:3])
        if hello.get("msg") == _MONGOS:
            return Deployment(SHARDED, _identified(SHARDED, _cluster_id(client)), version, True)
        name = hello.get("setName")
        if name is None:
            raise ConfigError(STANDALONE)
        cluster = _identified(name, _replica_set_id(client))
        return Deployment(name, cluster, version, is_shard=_is_shard(client))
    except PyMongoError as error:
        raise failed(error) from error


def too_old(version: tuple[int, ...]) -> str | None:
    """A sentence for a release that cannot be followed without a gap. Before MongoDB 4.2 nothing
    goes on behind a dropped collection (`startAfter`), and tokens may be bytes of another form."""
    if version >= _OLDEST:
        return None
    release = ".".join(map(str, version))
    return (
        f"MongoDB {release} cannot go on behind a dropped collection (`startAfter`), and its "
        "resume tokens have another form: use MongoDB 4.2 or later."
    )


def refused_deployment(deployment: Deployment, wanted: str, address: str) -> str | None:
    """A sentence for a deployment that the agent cannot follow, or that `mongodb.deployment` does
    not allow; `wanted` is its value, `address` what was connected to."""
    old = too_old(deployment.version)
    if old is not None:
        return old
    if deployment.is_shard and wanted != "shard":
        return (
            f"The replica set {deployment.name} is a shard of a sharded cluster: name a mongos in "
            "`mongodb.hosts`, or set `mongodb.deployment=shard` and run an agent beside each shard "
            "(docs/mongo-agent.md says what that means for order)."
        )
    found = "mongos" if deployment.is_sharded else "replica_set"
    if wanted in ("replica_set", "mongos") and wanted != found:
        return f"`mongodb.deployment={wanted}`, but a {found} answers at {address}."
    return None


def failed(error: PyMongoError) -> SidecarError:
    """The error for people, with its policy."""
    if isinstance(error, ConfigurationError):
        return ConfigError(f"MongoDB cannot be connected to: {error}.")
    code = error.code if isinstance(error, OperationFailure) else None
    failure = failure_of(code)
    if failure is Failure.AUTHENTICATION:
        return RefusedError(
            f"MongoDB refuses the login: {said(error)}. Correct `mongodb.user`, "
            "`mongodb.password` and `mongodb.authsource`."
        )
    if failure is Failure.AUTHORISATION:
        return RefusedError(
            f"A privilege is missing: {said(error)}. `mongo-agent check` names it and the command "
            "that grants it."
        )
    return UnavailableError(
        f"MongoDB does not answer: {said(error)}. See that it runs and that "
        "`mongodb.connection.string` or `mongodb.hosts` names it."
    )


def oldest_entry(client: Client) -> ClusterTime | None:
    """The time of the oplog's first entry; None where it may not be read, as behind a mongos."""
    with suppress(PyMongoError):
        entry = client.local["oplog.rs"].find_one({}, {"ts": 1}, sort=[("$natural", 1)])
        if entry is not None and isinstance(entry.get("ts"), Timestamp):
            return ClusterTime(entry["ts"].time, entry["ts"].inc)
    return None


def _identified(name: str, identity: str | None) -> str:
    return name if identity is None else f"{name}/{identity}"


def _replica_set_id(client: Client) -> str | None:
    """Needs the privilege of `replSetGetConfig`."""
    with suppress(OperationFailure):
        config = client.admin.command("replSetGetConfig")["config"]
        identity = config.get("settings", {}).get("replicaSetId")
        return None if identity is None else str(identity)
    return None


def _cluster_id(client: Client) -> str | None:
    """Needs to read `config.version`."""
    with suppress(OperationFailure):
        version = client.config.version.find_one()
        return None if version is None else str(version.get("clusterId"))
    return None


def _is_shard(client: Client) -> bool:
    """Needs to read `admin.system.version`; False where that is not allowed."""
    with suppress(OperationFailure):
        return client.admin["system.version"].find_one({"_id": "shardIdentity"}) is not None
    return False
