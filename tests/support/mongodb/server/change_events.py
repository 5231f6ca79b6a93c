"""From oplog entries to events of change streams: what a scope sees, and how it looks."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bson import Binary

from tests.support.mongodb.server.errors import CommandError
from tests.support.mongodb.server.oplog import Change, Entry, Namespace
from tests.support.mongodb.server.releases import DEFAULT, Release
from tests.support.mongodb.server.store import kind_of
from tests.support.mongodb.server.tokens import event_token
from tests.support.mongodb.server.wire import Document

INTERNAL_DATABASES = ("admin", "local", "config")
_ORDINARY = {"insert", "update", "replace", "delete", "drop", "rename", "dropDatabase"}
# What a cluster tells itself; no option hides it (`docs/change_stream_events.md` of the server).
_INTERNAL = {"reshardBegin"}
_IMAGE_CHOICES = ("off", "whenAvailable", "required")

Lookup = Callable[[Change], Document | None]


@dataclass(frozen=True)
class Scope:
    """What a stream watches: everything, a database, or (with `collection`) one collection, where
    streams are enabled."""

    database: str | None = None
    collection: str | None = None
    is_enabled: Callable[[Namespace], bool] = lambda _: True

    def sees(self, change: Change) -> bool:
        if not self.is_enabled(change.namespace):
            return False
        if self.database is None:
            return change.database not in INTERNAL_DATABASES and self._is_public(change)
        if self.collection is None:
            return change.database == self.database and self._is_public(change)
        watched = (self.database, self.collection)
        return not change.is_view and watched in (change.namespace, change.to)

    def is_ended_by(self, change: Change) -> bool:
        """Whether an `invalidate` follows (3.3 of the manual's "invalidate event")."""
        if self.collection is not None:
            return self.sees(change) and change.operation in ("drop", "rename")
        return (
            self.database is not None and change.operation == "dropDatabase" and self.sees(change)
        )

    @staticmethod
    def _is_public(change: Change) -> bool:
        return not change.collection.startswith("system.")


@dataclass(frozen=True)
class Options:
    """The options of the `$changeStream` stage that shape events."""

    full_document: str = "default"
    before_change: str = "off"
    is_expanded: bool = False
    release: Release = DEFAULT

    def __post_init__(self) -> None:
        images = _IMAGE_CHOICES[1:] if self.release.has_images else ()
        if self.full_document not in ("default", "updateLookup", *images):
            raise CommandError(2, f"Enumeration value '{self.full_document}' is not valid")
        if self.before_change not in _IMAGE_CHOICES:
            raise CommandError(2, f"Enumeration value '{self.before_change}' is not valid")

    def shows(self, change: Change) -> bool:
        if change.operation == "reshardCollection" and not self.release.reports_resharding:
            return False
        is_plain = change.operation in _ORDINARY and not change.is_view
        return self.is_expanded or is_plain or change.operation in _INTERNAL


def events(
    entry: Entry, scope: Scope, options: Options, lookup: Lookup, token_version: int
) -> Iterator[Document]:
    """The events of one entry in order, an `invalidate` after its cause.

    `lookup` gives the present document for `updateLookup`.
    """
    for index, change in zip(entry.indexes, entry.changes, strict=True):
        if not scope.sees(change):
            continue

        def token(is_invalidate: bool, change: Change = change, index: int = index) -> Document:
            return event_token(
                entry.time,
                token_version,
                index=index,
                collection=change.uuid,
                operation=change.operation,
                key=change.document_key if change.is_of_document else None,
                description=dict(change.description) if change.description is not None else None,
                is_invalidate=is_invalidate,
            )

        if options.shows(change):
            yield _event(entry, change, token(False), options, lookup)
        if scope.is_ended_by(change):
            yield {
                "_id": token(True),
                "operationType": "invalidate",
                "clusterTime": entry.time,
                **_wall_time(entry, options),
            }


def _event(
    entry: Entry, change: Change, token: Document, options: Options, lookup: Lookup
) -> Document:
    event: Document = {"_id": token, "operationType": change.operation, "clusterTime": entry.time}
    identifies = options.is_expanded or options.release.always_identifies_collections
    if identifies and change.uuid is not None and not change.is_view:
        event["collectionUUID"] = Binary(change.uuid.bytes, 4)
    event |= _wall_time(entry, options)
    if entry.transaction is not None:
        event["lsid"], event["txnNumber"] = entry.transaction
        if entry.is_prepared and identifies and options.release.has_commit_timestamps:
            event["commitTimestamp"] = entry.time
    event |= _images(change, options, lookup)
    event["ns"] = {"db": change.database}
    if change.collection:
        event["ns"]["coll"] = change.collection
    if change.to is not None:
        event["to"] = {"db": change.to[0], "coll": change.to[1]}
    if change.is_of_document:
        event["documentKey"] = change.document_key
    if change.update is not None:
        event["updateDescription"] = dict(change.update)
        if not options.release.has_truncated_arrays:
            del event["updateDescription"]["truncatedArrays"]
        if not (identifies and options.release.has_disambiguated_paths):
            del event["updateDescription"]["disambiguatedPaths"]
    if change.operation in _INTERNAL:
        event |= change.description or {}
    elif options.is_expanded and not change.is_of_document and change.description is not None:
        event["operationDescription"] = dict(change.description)
    if options.is_expanded and change.operation == "create" and options.release.tells_kinds:
        event["nsType"] = kind_of(change.description or {})
    if options.is_expanded and change.state_before is not None:
        event["stateBeforeChange"] = dict(change.state_before)
    return event


def _wall_time(entry: Entry, options: Options) -> Document:
    return {"wallTime": entry.wall_time} if options.release.has_images else {}


def _images(change: Change, options: Options, lookup: Lookup) -> Document:
    found: Document = {}
    if change.operation in ("insert", "replace"):
        found["fullDocument"] = change.after
    elif change.operation == "update" and options.full_document == "updateLookup":
        found["fullDocument"] = lookup(change)
    elif change.operation == "update" and options.full_document != "default":
        found["fullDocument"] = _image(change, change.after, options.full_document, "post-image")
    if change.operation in ("update", "replace", "delete") and options.before_change != "off":
        before = _image(change, change.before, options.before_change, "pre-image")
        found["fullDocumentBeforeChange"] = before
    return found


def _image(change: Change, image: Document | None, choice: str, name: str) -> Document | None:
    if change.has_images:
        return image
    if choice == "required":
        what = "update events" if name == "post-image" else "update, delete and replace events"
        message = f"Change stream was configured to require a {name} for all {what}"
        raise CommandError(47, f"{message}, but the {name} was not found for event")
    return None
