"""The collections of a deployment and their kinds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from mongo_agent.capture.namespaces import BUILT_IN, SYSTEM, Scope
from mongo_agent.server.commands import Client


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


def kind_of(entry: Mapping[str, Any]) -> CollectionKind:
    """The kind of a collection, from its entry in `listCollections`."""
    if str(entry["name"]).startswith(SYSTEM):
        return CollectionKind.SYSTEM
    of_type = {"view": CollectionKind.VIEW, "timeseries": CollectionKind.TIME_SERIES}.get(
        entry.get("type", "")
    )
    if of_type is not None:
        return of_type
    return CollectionKind.CAPPED if entry.get("options", {}).get("capped") else CollectionKind.PLAIN


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """One collection. `has_images`: the server stores pre- and post-images. `hint` names its index
    on `_id`."""

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
    has_images = bool(options.get("changeStreamPreAndPostImages", {}).get("enabled"))
    # A clustered collection is its own index on `_id`.
    clustered = options.get("clusteredIndex")
    hint = clustered.get("name", "_id_") if isinstance(clustered, dict) else "_id_"
    return CollectionInfo(database, name, kind_of(entry), has_images, hint)


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
