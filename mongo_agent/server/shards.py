"""The shards of a cluster, as its routers and config servers list them, and their tasks.

Each task reads one shard: task i the shard of that number. Shards are numbered by the time at which
they were added (`topologyTime`, from MongoDB 5.0 on) and by name, so that a new one moves no other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bson import Timestamp
from pymongo.errors import OperationFailure, PyMongoError

from mongo_agent.documents import ClusterTime
from mongo_agent.server.commands import Client
from mongo_agent.server.errors import Failure, classify_failure, error_text, server_error
from sidecar.errors import AccessDeniedError

_FIRST = ClusterTime(0, 0)


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard: its name, its replica set, the addresses of members, and when it was added."""

    name: str
    replica_set: str
    hosts: tuple[str, ...]
    added: ClusterTime | None = None


def list_shards(client: Client) -> tuple[Shard, ...]:
    """The shards in the order of their tasks, read from `config.shards`.

    Raises AccessDeniedError without the privilege, and UnavailableError.
    """
    try:
        entries = list(client.config.shards.find())
    except OperationFailure as error:
        if classify_failure(error.code) is not Failure.AUTHORISATION:
            raise server_error(error) from error
        raise AccessDeniedError(
            f"The shards of the cluster cannot be read: {error_text(error)}. Grant `find` on "
            "config.shards, or set `mongodb.connection.mode=sharded` and name a mongos."
        ) from error
    except PyMongoError as error:
        raise server_error(error) from error
    return tuple(sorted(map(_shard, entries), key=lambda each: (each.added or _FIRST, each.name)))


def shard_of_task(shards: Sequence[Shard], task: int) -> Shard | None:
    """The shard of a task; None for a spare one."""
    return shards[task] if task < len(shards) else None


def _shard(entry: dict[str, Any]) -> Shard:
    replica_set, _, hosts = str(entry["host"]).partition("/")
    added = entry.get("topologyTime")
    time = ClusterTime(added.time, added.inc) if isinstance(added, Timestamp) else None
    return Shard(str(entry["_id"]), replica_set, tuple(hosts.split(",")), time)
