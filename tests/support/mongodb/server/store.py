"""Documents and the catalogue with their history: the oplog applied, readable at every time.

Every value is kept with the cluster time from which it holds, so a read at a time is a look-up and
needs no copy (`readConcern` majority, `atClusterTime`, the view of a transaction).
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from uuid import UUID

from bson import Timestamp

from tests.support.mongodb.server.key_string import folded, order
from tests.support.mongodb.server.oplog import Change, Entry, Namespace
from tests.support.mongodb.server.wire import Document

T = TypeVar("T")

OLDEST, NEWEST = Timestamp(0, 0), Timestamp(2**32 - 1, 2**32 - 1)


class Versions(Generic[T]):
    """One value over time."""

    def __init__(self) -> None:
        self._times: list[Timestamp] = []
        self._values: list[T | None] = []

    def at(self, time: Timestamp) -> T | None:
        index = bisect_right(self._times, time)
        return self._values[index - 1] if index else None

    def set(self, time: Timestamp, value: T | None) -> None:
        self._times.append(time)
        self._values.append(value)

    @property
    def any(self) -> T:
        """One of those that it was."""
        return next(value for value in self._values if value is not None)

    @property
    def changed_at(self) -> Timestamp:
        return self._times[-1]


@dataclass(frozen=True)
class Ids:
    """Keys of documents in the order of their `_id`s. With `ignores_case` they are ordered as by a
    collation of strength 2, of which nothing else is here."""

    ignores_case: bool = False
    order: list[bytes] = field(default_factory=list)
    keys: list[bytes] = field(default_factory=list)

    @classmethod
    def of(cls, documents: Mapping[bytes, Versions[Document]], ignores_case: bool) -> "Ids":
        pairs = sorted(
            (order(folded(versions.any["_id"]) if ignores_case else versions.any["_id"]), key)
            for key, versions in documents.items()
        )
        return cls(ignores_case, [pair[0] for pair in pairs], [pair[1] for pair in pairs])

    def between(self, low: Document | None, high: Document | None) -> list[bytes]:
        """Keys from `low` to in front of `high`, which are `{_id: …}`."""
        start = 0 if low is None else bisect_left(self.order, self.place(low))
        stop = len(self.order) if high is None else bisect_left(self.order, self.place(high))
        return self.keys[start:stop]

    def place(self, bound: Document) -> bytes:
        """By what `{_id: …}` is ordered here."""
        return order(folded(bound["_id"]) if self.ignores_case else bound["_id"])


@dataclass
class Collection:
    """Documents by the key of their `_id`, in order of their first insert."""

    uuid: UUID
    options: Mapping[str, Any]
    documents: dict[bytes, Versions[Document]] = field(default_factory=dict)
    indexes: dict[str, Document] = field(
        default_factory=lambda: {"_id_": {"v": 2, "key": {"_id": 1}, "name": "_id_"}}
    )
    # Reads at an earlier time are refused with 246: its documents were in another collection.
    since: Timestamp = OLDEST
    _ids: Ids = field(default_factory=Ids)

    def ids(self) -> "Ids":
        """The index of `_id`, as it was when it was asked for."""
        if len(self._ids.keys) != len(self.documents):
            ignores_case = self.options.get("collation", {}).get("strength", 3) <= 2
            self._ids = Ids.of(self.documents, ignores_case)
        return self._ids

    def place_anew(self, place: Callable[[Document], bytes]) -> None:
        """Documents get other keys, as those that move between shards."""
        self.documents = {place(each.any): each for each in self.documents.values()}
        self._ids = Ids()

    def add_indexes(self, indexes: Iterable[Document]) -> None:
        self.indexes |= {index["name"]: index for index in indexes}

    @property
    def is_view(self) -> bool:
        return is_view(self.options)

    @property
    def has_images(self) -> bool:
        images = self.options.get("changeStreamPreAndPostImages")
        return bool(images and images.get("enabled"))


def kind_of(options: Mapping[str, Any]) -> str:
    """The type that `listCollections` and `nsType` show."""
    if "timeseries" in options:
        return "timeseries"
    return "view" if "viewOn" in options else "collection"


def is_view(options: Mapping[str, Any]) -> bool:
    """Time series are views of their buckets."""
    return kind_of(options) != "collection"


def new_collection(change: Change) -> Collection:
    """The collection that a `create` makes, without documents."""
    assert change.uuid is not None
    options = dict(change.description or {})
    options.pop("idIndex", None)
    return Collection(change.uuid, options)


class Store:
    """All collections of the replica set at all times."""

    def __init__(self) -> None:
        self._catalogue: dict[Namespace, Versions[Collection]] = {}

    def apply(self, entry: Entry) -> None:
        for change in entry.changes:
            self._apply(change, entry.time)

    def collection(self, namespace: Namespace, time: Timestamp = NEWEST) -> Collection | None:
        versions = self._catalogue.get(namespace)
        return versions.at(time) if versions is not None else None

    def namespaces(self, time: Timestamp = NEWEST) -> list[Namespace]:
        """The collections that there are at `time`, in order of names."""
        return sorted(name for name, found in self._catalogue.items() if found.at(time) is not None)

    def _apply(self, change: Change, time: Timestamp) -> None:
        if change.is_of_document:
            collection = self._catalogue[change.namespace].at(NEWEST)
            assert collection is not None, f"no collection {change.namespace}"
            collection.documents.setdefault(change.place, Versions()).set(time, change.after)
            return
        match change.operation:
            case "create":
                self._name(change.namespace, time, new_collection(change))
            case "drop":
                self._name(change.namespace, time, None)
            case "rename":
                assert change.to is not None
                self._name(change.to, time, self._catalogue[change.namespace].at(NEWEST))
                self._name(change.namespace, time, None)
            case "createIndexes":
                collection = self._catalogue[change.namespace].at(NEWEST)
                assert collection is not None
                collection.add_indexes((change.description or {})["indexes"])
            case "reshardCollection":
                collection = self._catalogue[change.namespace].at(NEWEST)
                assert collection is not None
                collection.uuid = UUID(bytes=bytes((change.description or {})["reshardUUID"]))
                collection.since = time
            case "modify":
                collection = self._catalogue[change.namespace].at(NEWEST)
                assert collection is not None
                collection.options = {**collection.options, **(change.description or {})}

    def _name(self, namespace: Namespace, time: Timestamp, value: Collection | None) -> None:
        self._catalogue.setdefault(namespace, Versions()).set(time, value)


@dataclass
class View:
    """The documents at one time, with what a transaction wrote and did not commit."""

    store: Store
    time: Timestamp = NEWEST
    written: dict[tuple[Namespace, bytes], Document | None] = field(default_factory=dict)
    # Which documents the reader has: those of its shard.
    owns: Callable[[Namespace, Document], bool] | None = None

    def document(self, namespace: Namespace, key: bytes) -> Document | None:
        if (namespace, key) in self.written:
            return self.written[namespace, key]
        collection = self.store.collection(namespace, self.time)
        versions = collection.documents.get(key) if collection is not None else None
        document = versions.at(self.time) if versions is not None else None
        if document is not None and self.owns is not None and not self.owns(namespace, document):
            return None
        return document

    def documents(self, namespace: Namespace) -> Iterator[Document]:
        """In natural order. Not to be changed."""
        collection = self.store.collection(namespace, self.time)
        keys = list(collection.documents) if collection is not None else []
        seen = set(keys)
        keys += [key for name, key in self.written if name == namespace and key not in seen]
        for key in keys:
            document = self.document(namespace, key)
            if document is not None:
                yield document

    def documents_by_id(
        self, namespace: Namespace, low: Document | None = None, high: Document | None = None
    ) -> Iterator[Document]:
        """By the index of `_id`, from one bound to in front of the other. Without what a
        transaction inserted."""
        collection = self.store.collection(namespace, self.time)
        for key in collection.ids().between(low, high) if collection is not None else ():
            document = self.document(namespace, key)
            if document is not None:
                yield document
