"""Which collections the agent captures and snapshots, and the property that decides."""

from collections.abc import Iterable
from dataclasses import dataclass

from pymongo.errors import PyMongoError

from mongo_agent.capture.namespaces import Namespaces, is_servers_own
from mongo_agent.config.loading import MongoConfig
from mongo_agent.server.catalogue import CollectionInfo, CollectionKind, list_collections
from mongo_agent.server.commands import Client, decode_replies
from mongo_agent.server.errors import server_error

_WITHOUT_EVENTS = {
    CollectionKind.VIEW: "a view has no changes",
    CollectionKind.TIME_SERIES: "MongoDB has no change events for time series",
    CollectionKind.SYSTEM: "a system collection",
}


@dataclass(frozen=True, slots=True)
class CollectionPlan:
    """The plan for one collection.

    `reason` explains why the agent does or does not capture it, `snapshot_reason` why the snapshot
    omits a captured collection.
    """

    collection: CollectionInfo
    is_captured: bool
    is_in_snapshot: bool
    reason: str
    snapshot_reason: str = ""


def plan_of(collection: CollectionInfo, config: MongoConfig) -> CollectionPlan:
    """Decide whether the agent captures and snapshots a collection in the scope of a stream."""
    database, name = collection.database, collection.name
    captured = config.namespaces
    reason = _WITHOUT_EVENTS.get(collection.kind)
    if reason is not None:
        return CollectionPlan(collection, False, False, reason)
    if not captured.captures(database, name):
        return CollectionPlan(collection, False, False, _why_not(captured, database, name))
    reason = _why(captured, database, name)
    if config.is_in_snapshot(database, name):
        return CollectionPlan(collection, True, True, reason)
    has_none = config.snapshot.mode == "no_data"
    why_not = "snapshot.mode=no_data" if has_none else "not in snapshot.include.collection.list"
    return CollectionPlan(collection, True, False, reason, why_not)


def list_captured(client: Client, config: MongoConfig) -> list[CollectionInfo]:
    """List the captured collections in the streams' scopes. Raises errors of `server_error`."""
    return captured_among(list_in_scopes(client, config), config)


def list_in_scopes(client: Client, config: MongoConfig) -> list[CollectionInfo]:
    """List all collections in the streams' scopes. Raises errors of `server_error`."""
    try:
        with decode_replies():
            return list(list_collections(client, config.scopes))
    except PyMongoError as error:
        raise server_error(error) from error


def captured_among(listed: Iterable[CollectionInfo], config: MongoConfig) -> list[CollectionInfo]:
    return [each for each in listed if plan_of(each, config).is_captured]


def _why(captured: Namespaces, database: str, name: str) -> str:
    found = captured.first_match(captured.include_collections, f"{database}.{name}")
    if found is not None:
        return f"collection.include.list: {found}"
    found = captured.first_match(captured.include_databases, database)
    return "no list excludes it" if found is None else f"database.include.list: {found}"


def _why_not(captured: Namespaces, database: str, name: str) -> str:
    if is_servers_own(name):
        return "a temporary collection of the server"
    if captured.include_databases and not captured.captures_database(database):
        return "not in database.include.list"
    found = captured.first_match(captured.exclude_databases, database)
    if found is not None:
        return f"database.exclude.list: {found}"
    found = captured.first_match(captured.exclude_collections, f"{database}.{name}")
    return (
        "not in collection.include.list" if found is None else f"collection.exclude.list: {found}"
    )
