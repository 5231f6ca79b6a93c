"""Which collections there are, and which of them a request is about."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pymongo import MongoClient

from mongo_agent.capture.collection_kind import CollectionKind, kind_of
from mongo_agent.capture.namespaces import Namespaces
from mongo_agent.snapshot.records import SelectedCollection, SnapshotReason, SnapshotRequest
from mongo_agent.snapshot.settings import SnapshotSettings
from sidecar.regular_expressions import BoundedPattern, compile_bounded

Client = MongoClient[Any]

_QUOTED = re.compile(r'"([^"]*)"')
_ID_INDEX = "_id_"


_SKIPPED = {
    CollectionKind.VIEW: "it is a view: its documents are those of other collections",
    CollectionKind.TIME_SERIES: "it is a time series; change streams do not report its changes",
}


@dataclass(frozen=True, slots=True)
class CapturedCollection:
    """A collection of the server; `hint` names its index of `_id`."""

    database: str
    collection: str
    kind: CollectionKind = CollectionKind.PLAIN
    hint: str = _ID_INDEX

    @property
    def namespace(self) -> str:
        return f"{self.database}.{self.collection}"


def captured_collections(client: Client, namespaces: Namespaces) -> list[CapturedCollection]:
    """All collections that are captured, by name. Raises `PyMongoError`."""
    found = []
    for database in sorted(client.list_database_names()):
        if not namespaces.captures_database(database):
            continue
        for entry in client[database].list_collections():
            if namespaces.captures(database, entry["name"]):
                found.append(_found(database, entry))
    return sorted(found, key=lambda each: (each.database, each.collection))


def _found(database: str, entry: Any) -> CapturedCollection:
    options = entry.get("options", {})
    # A clustered collection has no other index of `_id` than itself.
    clustered = options.get("clusteredIndex")
    hint = clustered.get("name", _ID_INDEX) if isinstance(clustered, dict) else _ID_INDEX
    return CapturedCollection(database, entry["name"], kind_of(entry), hint)


def exists(client: Client, database: str, collection: str) -> bool:
    """Raises `PyMongoError`."""
    return bool(client[database].list_collection_names(filter={"name": collection}))


def with_estimates(
    client: Client, selected: Sequence[SelectedCollection]
) -> list[SelectedCollection]:
    """With the numbers of documents by the server's own count, which costs no scan; those that are
    empty first, so that the last document of the last collection can be told. Raises
    `PyMongoError`."""
    known = [
        each
        if each.skipped
        else replace(
            each,
            estimated=client[each.database][each.collection].estimated_document_count(),
        )
        for each in selected
    ]
    return sorted(known, key=lambda each: each.estimated != 0)


def select_collections(
    request: SnapshotRequest,
    found: Sequence[CapturedCollection],
    namespaces: Namespaces,
    settings: SnapshotSettings,
) -> list[SelectedCollection]:
    """What a request is about, in its order."""
    found = [each for each in found if namespaces.captures(each.database, each.collection)]
    if request.reason is SnapshotReason.SIGNAL:
        selected = _named(request, found)
    else:
        selected = [
            _selected(each, settings.filters.get(each.namespace))
            for each in found
            if settings.chosen.captures(each.database, each.collection)
            and not _was_captured(each, request.known)
        ]
    left_out = {
        each.namespace for name in request.but for each in matching_collections(name, found)
    }
    return [each for each in selected if f"{each.database}.{each.collection}" not in left_out]


def _was_captured(found: CapturedCollection, known: Namespaces | None) -> bool:
    return known is not None and known.captures(found.database, found.collection)


def _named(
    request: SnapshotRequest, found: Sequence[CapturedCollection]
) -> list[SelectedCollection]:
    """In the order of the names; of several conditions for one collection the first counts."""
    queries: dict[str, str] = {}
    for name, query in request.filters:
        for each in matching_collections(name, found):
            queries.setdefault(each.namespace, query)
    meant = {
        each.namespace: each for name in request.names for each in matching_collections(name, found)
    }
    return [_selected(each, queries.get(namespace)) for namespace, each in meant.items()]


def _selected(found: CapturedCollection, query: str | None) -> SelectedCollection:
    return SelectedCollection(
        found.database,
        found.collection,
        query,
        found.hint,
        is_plain=found.kind is CollectionKind.CAPPED,
        skipped=_SKIPPED.get(found.kind),
    )


def matching_collections(
    name: str, found: Iterable[CapturedCollection]
) -> list[CapturedCollection]:
    """The collections that a signal means: the one that has exactly this name, else those that it
    matches as an expression over `database.collection`, whole and without regard to case."""
    known = list(found)
    exact = [each for each in known if each.namespace == name]
    return exact or [each for each in known if matches_name(each.namespace, name)]


def matches_name(namespace: str, name: str) -> bool:
    """Whether a name in a signal means a collection. Raises ValueError for no expression."""
    return namespace == name or name_expression(name).matches(namespace)


def name_expression(name: str) -> BoundedPattern:
    """The expression of a name in a signal: parts in double quotes are texts, as they are needed
    where a part has a dot, and so is a dot beside them. Raises ValueError for what is none, or
    cannot be matched in bounded time: signals may come from users with fewer rights."""
    expression = ""
    end = 0
    for quoted in _QUOTED.finditer(name):
        between = name[end : quoted.start()]
        expression += r"\." if between == "." else between
        expression += re.escape(quoted[1])
        end = quoted.end()
    rest = name[end:]
    if end and rest.startswith("."):
        rest = r"\." + rest[1:]
    return compile_bounded(expression + rest, re.IGNORECASE)
