"""The collections of a deployment with their kinds, and the shards of a cluster with their tasks.

Each task reads one shard: task i reads shard i. Shards are ordered by the time when they were added
(`topologyTime`, since MongoDB 5.0), then by name. So a new shard changes no other task.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from bson import Timestamp
from pymongo.errors import OperationFailure, PyMongoError

from mongo_agent.capture.namespaces import BUILT_IN, SYSTEM, Scope
from mongo_agent.documents import NEVER, ClusterTime
from mongo_agent.server.commands import Client, decode_replies
from mongo_agent.server.errors import Failure, classify_failure, error_text, server_error
from sidecar.errors import AccessDeniedError


class CollectionKind(StrEnum):
    """Kinds that streams and snapshots treat differently."""

    PLAIN = "collection"
    CAPPED = "capped"
    """Not readable at a cluster time."""
    VIEW = "view"
    """Shows the documents of other collections."""
    TIME_SERIES = "time series"
    """Has no change events."""
    SYSTEM = "system"
    """A system collection of the server."""


_BY_TYPE = {"view": CollectionKind.VIEW, "timeseries": CollectionKind.TIME_SERIES}


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """One collection. `has_images`: the server stores pre- and post-images. `hint` is the name of
    its `_id` index."""

    database: str
    name: str
    kind: CollectionKind = CollectionKind.PLAIN
    has_images: bool = False
    hint: str = "_id_"

    @property
    def namespace(self) -> str:
        return f"{self.database}.{self.name}"


def collection_info(database: str, entry: Mapping[str, Any]) -> CollectionInfo:
    """Parse an entry of `listCollections`."""
    name, options = str(entry["name"]), entry.get("options", {})
    kind = CollectionKind.CAPPED if options.get("capped") else CollectionKind.PLAIN
    kind = _BY_TYPE.get(entry.get("type", ""), kind)
    if name.startswith(SYSTEM):
        kind = CollectionKind.SYSTEM
    has_images = bool(options.get("changeStreamPreAndPostImages", {}).get("enabled"))
    # A clustered collection is its own index on `_id`.
    clustered = options.get("clusteredIndex")
    hint = clustered.get("name", "_id_") if isinstance(clustered, dict) else "_id_"
    return CollectionInfo(database, name, kind, has_images, hint)


def list_collections(client: Client, scopes: Sequence[Scope]) -> Iterator[CollectionInfo]:
    """List the collections in the scopes by name, without system databases. Raises PyMongoError."""
    by_database: dict[str, set[str] | None] = {}
    for scope in scopes:
        if scope.database is None:
            by_database |= dict.fromkeys(client.list_database_names())
        elif scope.collection is None:
            by_database[scope.database] = None
        else:
            known = by_database.setdefault(scope.database, set())
            if known is not None:
                known.add(scope.collection)
    for database in sorted(by_database.keys() - BUILT_IN):
        wanted = by_database[database]
        names = {} if wanted is None else {"name": {"$in": sorted(wanted)}}
        entries = list(client[database].list_collections(filter=names))
        yield from sorted(
            (collection_info(database, entry) for entry in entries), key=lambda each: each.name
        )


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard: its name, replica set, member addresses, and when it was added."""

    name: str
    replica_set: str
    hosts: tuple[str, ...]
    added: ClusterTime | None = None


def list_shards(client: Client) -> tuple[Shard, ...]:
    """Read the shards from `config.shards`, in the order of their tasks.

    Raises AccessDeniedError if the privilege is missing, and UnavailableError.
    """
    try:
        with decode_replies():
            shards = [_shard(entry) for entry in client.config.shards.find()]
    except OperationFailure as error:
        if classify_failure(error) is not Failure.AUTHORISATION:
            raise server_error(error) from error
        raise AccessDeniedError(
            f"The shards of the cluster cannot be read: {error_text(error)}. Grant `find` on "
            "config.shards, or set `mongodb.connection.mode=sharded` and name a mongos."
        ) from error
    except PyMongoError as error:
        raise server_error(error) from error
    return tuple(sorted(shards, key=lambda each: (each.added or NEVER, each.name)))


def shard_of_task(shards: Sequence[Shard], task: int) -> Shard | None:
    """Return the shard of a task, or None for a spare task."""
    return shards[task] if task < len(shards) else None


def _shard(entry: dict[str, Any]) -> Shard:
    replica_set, _, hosts = str(entry["host"]).partition("/")
    added = entry.get("topologyTime")
    time = ClusterTime(added.time, added.inc) if isinstance(added, Timestamp) else None
    return Shard(str(entry["_id"]), replica_set, tuple(hosts.split(",")), time)
