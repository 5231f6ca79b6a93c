"""A random workload: every way to change a document, over several databases and collections.

Equal seeds give equal workloads, except for values that the server generates (times, sessions).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from bson import Timestamp
from pymongo import MongoClient
from pymongo.client_session import ClientSession
from pymongo.collection import Collection
from pymongo.errors import AutoReconnect, DuplicateKeyError

from tests.oracle.debezium_mongodb.values import document, field_name, key, leaf, value

Client = MongoClient[dict[str, Any]]

# With images, without them, and with names that are not valid topic names.
NAMESPACES = (
    ("shop", "orders"),
    ("shop", "plain"),
    ("shop", "with.dots-and_more"),
    ("shop", "Kunden größer 店 😀"),
    ("größe", "a+b"),
)
_WITH_IMAGES = NAMESPACES[:1] + NAMESPACES[3:]
END = ("peer", "end")
"""Collection of the workload's last document."""
END_KEY = "the end"


@dataclass
class Workload:
    """`prepare`, then `run`, both through `client`."""

    client: Client
    random: Random
    # Servers before 6.0 store none.
    has_images: bool = True
    _keys: dict[tuple[str, str], list[Any]] = field(default_factory=dict)

    def prepare(self, documents: int) -> None:
        """Create the collections, with some documents in each."""
        for database, name in NAMESPACES:
            # An existing, sharded collection remains as it is.
            if name not in self.client[database].list_collection_names():
                self.client[database].create_collection(name)
            if (database, name) in _WITH_IMAGES and self.has_images:
                images = {"enabled": True}
                self.client[database].command("collMod", name, changeStreamPreAndPostImages=images)
            self._keys[database, name] = []
            for _ in range(documents):
                self._insert((database, name), None)

    def run(self, steps: int) -> None:
        """Execute this number of changes, transactions and catalogue changes."""
        for _ in range(steps):
            if self.random.random() < 0.1:
                self._transaction()
            elif self.random.random() < 0.02:
                self._ddl()
            else:
                self._change(None)

    def write_until_heard(self) -> Timestamp:
        """Write as soon as there is a primary again, like an application; returns the time."""
        while True:
            try:
                with self.client.start_session() as session:
                    self.client.peer.heard.insert_one({}, session=session)
                    assert session.operation_time is not None
                    return session.operation_time
            except AutoReconnect:
                continue

    def end(self) -> None:
        """Write the last documents, one in every collection and one in a separate one."""
        for database, name in (*NAMESPACES, END):
            self.client[database][name].insert_one({"_id": END_KEY})

    def _transaction(self) -> None:
        """Aborted changes must not become visible; they leave the keys unchanged."""
        with self.client.start_session() as session:
            kept = {name: list(keys) for name, keys in self._keys.items()}
            session.start_transaction()
            try:
                for _ in range(self.random.randint(1, 5)):
                    self._change(session)
            except DuplicateKeyError:
                session.abort_transaction()
                self._keys = kept
                return
            if self.random.random() < 0.2:
                session.abort_transaction()
                self._keys = kept
            else:
                session.commit_transaction()

    def _ddl(self) -> None:
        scratch = self.client.shop.scratch
        scratch.insert_one({"_id": 1})
        scratch.create_index("n")
        scratch.rename("scratch2")
        self.client.shop.drop_collection("scratch2")

    def _change(self, session: ClientSession | None) -> None:
        namespace = self.random.choice(NAMESPACES)
        if not self._keys[namespace]:
            self._insert(namespace, session)
            return
        self.random.choice(_CHANGES)(self, namespace, session)

    def _collection(self, namespace: tuple[str, str]) -> Collection[dict[str, Any]]:
        return self.client[namespace[0]][namespace[1]]

    def _some_key(self, namespace: tuple[str, str]) -> Any:
        return self.random.choice(self._keys[namespace])

    def _insert(self, namespace: tuple[str, str], session: ClientSession | None) -> None:
        found = {"_id": key(self.random), **document(self.random)}
        found |= {"list": [leaf(self.random) for _ in range(5)], "sub": {"a": 1, "b": "x"}}
        try:
            self._collection(namespace).insert_one(found, session=session)
        except DuplicateKeyError:
            # In a transaction it ends the transaction.
            if session is not None:
                raise
            return
        self._keys[namespace].append(found["_id"])

    def _set(self, namespace: tuple[str, str], session: ClientSession | None) -> None:
        random = self.random
        paths = random.sample(["n", "sub.a", "sub.new.deep", "list.0", "list.3", "größe"], 2)
        update: dict[str, Any] = {"$set": {path: value(random) for path in paths}}
        if random.random() < 0.5:
            update["$set"][field_name(random)] = value(random)
        if random.random() < 0.5:
            update["$unset"] = {random.choice(["n", "sub.b", "m", "list.4"]): ""}
            for path in update["$unset"]:
                update["$set"].pop(path, None)
        self._update(namespace, update, session)

    def _operators(self, namespace: tuple[str, str], session: ClientSession | None) -> None:
        random = self.random
        update = random.choice(
            [
                {"$inc": {"count": random.randint(1, 9)}},
                {"$push": {"pushed": {"$each": [leaf(random), leaf(random)]}}},
                {"$addToSet": {"pushed": leaf(random)}},
                {"$min": {"least": leaf(random)}},
                {"$rename": {"größe": "umbenannt"}},
            ]
        )
        self._update(namespace, update, session)

    def _pipeline(self, namespace: tuple[str, str], session: ClientSession | None) -> None:
        """The server reports the difference of the two documents, so arrays may be truncated."""
        random = self.random
        shorter = [leaf(random) for _ in range(random.randint(0, 4))]
        stages: list[dict[str, Any]] = [
            {"$set": {"list": {"$literal": shorter}, "copied": "$sub"}},
            {"$unset": random.choice(["n", "sub", "pushed"])},
        ]
        self._update(namespace, stages, session)

    def _update(self, namespace: tuple[str, str], update: Any, session: Any) -> None:
        query = {"_id": self._some_key(namespace)}
        self._collection(namespace).update_one(query, update, session=session)

    def _replace(self, namespace: tuple[str, str], session: ClientSession | None) -> None:
        # The target of the other updates must exist.
        found = {**document(self.random), "list": [0, 1, 2, 3, 4], "sub": {"a": 2}}
        query = {"_id": self._some_key(namespace)}
        self._collection(namespace).replace_one(query, found, session=session)

    def _delete(self, namespace: tuple[str, str], session: ClientSession | None) -> None:
        keys = self._keys[namespace]
        gone = keys.pop(self.random.randrange(len(keys)))
        self._collection(namespace).delete_one({"_id": gone}, session=session)


_Change = Callable[[Workload, tuple[str, str], ClientSession | None], None]
_CHANGES: tuple[_Change, ...] = (
    Workload._insert,
    Workload._insert,
    Workload._set,
    Workload._set,
    Workload._operators,
    Workload._pipeline,
    Workload._replace,
    Workload._delete,
)
