"""What becomes of each collection, and which property says so."""

from dataclasses import dataclass

from mongo_agent.capture.catalogue import CollectionInfo
from mongo_agent.capture.collection_kind import CollectionKind
from mongo_agent.capture.namespaces import MatchMode, Namespaces
from mongo_agent.config import MongoConfig

_WITHOUT_EVENTS = {
    CollectionKind.VIEW: "a view has no changes of its own",
    CollectionKind.TIME_SERIES: "MongoDB has no change events for a time series",
    CollectionKind.SYSTEM: "the server's own",
}


@dataclass(frozen=True, slots=True)
class CollectionPlan:
    """`reason` says why it is captured or not, `copy_reason` why it is not copied; empty where it
    is, or where nothing is captured either."""

    collection: CollectionInfo
    is_captured: bool
    is_copied: bool
    reason: str
    copy_reason: str = ""


def plan_of(collection: CollectionInfo, config: MongoConfig) -> CollectionPlan:
    """What becomes of a collection that is in the scope of a stream."""
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
    return CollectionPlan(collection, True, False, reason, _why_not_copied(config))


def _why(captured: Namespaces, database: str, name: str) -> str:
    full_name = f"{database}.{name}"
    found = _matching(captured.include_collections, captured.mode, full_name)
    if found is not None:
        return f"collection.include.list: {found}"
    found = _matching(captured.include_databases, captured.mode, database)
    if found is not None:
        return f"database.include.list: {found}"
    return "no list leaves it out"


def _why_not(captured: Namespaces, database: str, name: str) -> str:
    if captured.include_databases and not captured.captures_database(database):
        return "not in database.include.list"
    for what, patterns, compared in (
        ("database", captured.exclude_databases, database),
        ("collection", captured.exclude_collections, f"{database}.{name}"),
    ):
        found = _matching(patterns, captured.mode, compared)
        if found is not None:
            return f"{what}.exclude.list: {found}"
    return "not in collection.include.list"


def _matching(patterns: tuple[str, ...], mode: MatchMode, name: str) -> str | None:
    """The first pattern that takes the whole name."""
    # A pattern alone is asked by the same rules as all of them.
    return next(
        (
            pattern
            for pattern in patterns
            if Namespaces(include_databases=(pattern,), mode=mode).captures_database(name)
        ),
        None,
    )


def _why_not_copied(config: MongoConfig) -> str:
    if config.copying.mode == "no_data":
        return "snapshot.mode=no_data"
    return "not in snapshot.include.collection.list"
