"""Listing of the collections of a deployment."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pymongo import MongoClient

from mongo_agent.capture.collection_kind import CollectionKind, kind_of
from mongo_agent.capture.namespaces import BUILT_IN
from mongo_agent.capture.scope import Scope

Client = MongoClient[Any]


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """One collection. `has_images`: the server stores pre- and post-images."""

    database: str
    name: str
    kind: CollectionKind
    has_images: bool = False


def collection_info(database: str, entry: Mapping[str, Any]) -> CollectionInfo:
    """Parse an entry of `listCollections`."""
    images = entry.get("options", {}).get("changeStreamPreAndPostImages", {})
    return CollectionInfo(database, str(entry["name"]), kind_of(entry), bool(images.get("enabled")))


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
