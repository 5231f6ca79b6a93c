"""Listing and selection of collections for a snapshot."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from pymongo.errors import OperationFailure

from mongo_agent.capture.namespaces import Namespaces, Scope
from mongo_agent.regular_expressions import Pattern, compile_pattern
from mongo_agent.server.catalogue import CollectionInfo, CollectionKind, list_collections
from mongo_agent.server.commands import Client, decode_replies, run_command
from mongo_agent.server.errors import Failure, classify_failure
from mongo_agent.snapshot.records import (
    CollectionSnapshot,
    FinishedSnapshot,
    SnapshotOutcome,
    SnapshotReason,
    SnapshotRequest,
)
from mongo_agent.snapshot.settings import SnapshotSettings

_QUOTED = re.compile(r'"([^"]*)"')
_SKIPPED = {
    CollectionKind.VIEW: "a view, which shows documents of other collections",
    CollectionKind.TIME_SERIES: "a time series; change streams do not report its changes",
}


def list_captured_collections(client: Client, namespaces: Namespaces) -> list[CollectionInfo]:
    """List the captured collections by name. Raises `PyMongoError`."""
    databases = filter(namespaces.captures_database, client.list_database_names())
    listed = list_collections(client, [Scope(each) for each in databases])
    return [each for each in listed if namespaces.captures(each.database, each.name)]


def exists(client: Client, database: str, collection: str) -> bool:
    """Whether a collection exists. Raises `PyMongoError`."""
    with decode_replies():
        return bool(client[database].list_collection_names(filter={"name": collection}))


Selected = CollectionSnapshot | FinishedSnapshot
"""The snapshot of a selected collection, which has no number yet, or the record of a skipped
collection."""


def add_estimates(client: Client, selected: Sequence[Selected]) -> list[Selected]:
    """Add estimated document counts from metadata, and sort empty collections first.

    Then the last document of the last collection is the last document of the snapshot. Raises
    `PyMongoError`.
    """
    known = [
        replace(each, estimated=_estimate(client, each))
        if isinstance(each, CollectionSnapshot)
        else each
        for each in selected
    ]
    return sorted(known, key=lambda each: isinstance(each, FinishedSnapshot) or each.estimated != 0)


def _estimate(client: Client, selected: CollectionSnapshot) -> int | None:
    """Count the documents; return None if the server cannot count this collection.

    The driver's own methods reject names with dots that the server accepts (`a.`, `a..b`).
    """
    try:
        reply = run_command(client, {"count": selected.collection}, selected.database)
    except OperationFailure as error:
        if classify_failure(error) in (Failure.AUTHORISATION, Failure.OTHER):
            # The reads of this collection report the fault; the others are copied.
            return None
        raise
    return int(reply["n"])


def select_collections(
    request: SnapshotRequest,
    found: Sequence[CollectionInfo],
    namespaces: Namespaces,
    settings: SnapshotSettings,
) -> list[Selected]:
    """Select the collections of a request, in its order."""
    found = [each for each in found if namespaces.captures(each.database, each.name)]
    if request.reason is SnapshotReason.SIGNAL:
        selected = _named(request, found)
    else:
        selected = [
            _selected(request, each, settings.filters.get(each.namespace))
            for each in found
            if settings.chosen.captures(each.database, each.name)
            and not (request.known and request.known.captures(each.database, each.name))
        ]
    left_out = {
        each.namespace for name in request.but for each in matching_collections(name, found)
    }
    return [each for each in selected if each.namespace not in left_out]


def _named(request: SnapshotRequest, found: Sequence[CollectionInfo]) -> list[Selected]:
    """Select collections in the order of names; the first filter for a collection applies."""
    queries: dict[str, str] = {}
    for name, query in request.filters:
        for each in matching_collections(name, found):
            queries.setdefault(each.namespace, query)
    meant = {
        each.namespace: each for name in request.names for each in matching_collections(name, found)
    }
    return [_selected(request, each, queries.get(name)) for name, each in meant.items()]


def _selected(request: SnapshotRequest, found: CollectionInfo, query: str | None) -> Selected:
    reason, signal = request.reason, request.signal
    skipped = _SKIPPED.get(found.kind)
    if skipped is not None:
        outcome = SnapshotOutcome.SKIPPED
        return FinishedSnapshot(found.namespace, reason, outcome, signal, note=skipped)
    is_plain = found.kind is CollectionKind.CAPPED
    names = found.database, found.name
    return CollectionSnapshot(0, *names, reason, signal, query, found.hint, is_plain)


def matching_collections(name: str, found: Iterable[CollectionInfo]) -> list[CollectionInfo]:
    """Return the collections that a name in a signal selects.

    An exact name selects one collection. Otherwise the name is a regular expression for the whole
    `database.collection` name, ignoring case.
    """
    known = list(found)
    exact = [each for each in known if each.namespace == name]
    expression = name_expression(name)
    return exact or [each for each in known if expression.matches(each.namespace)]


def name_expression(name: str, *, is_linear: bool = False) -> Pattern:
    """Compile a name from a signal.

    Double quotes enclose literal parts, for names with dots; a dot next to them is literal, too.
    Raises ValueError for an invalid expression; if `is_linear`, also for unbounded matching time.
    """
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
    return compile_pattern(expression + rest, ignores_case=True, is_linear=is_linear)
