"""The state that all members share: one history, its readers and writers, one lock.

Members differ in role, cursors, connections and fail points, not in data: every write is on every
member at once, so nothing is ever rolled back. `changed` guards everything and tells of changes.
"""

import os
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from bson import Int64, Timestamp

from tests.support.mongodb.server.histories import History, MergedHistory
from tests.support.mongodb.server.journal import Journal
from tests.support.mongodb.server.members import Member, Topology
from tests.support.mongodb.server.oplog import Change, Clock, Entry, Namespace, Oplog
from tests.support.mongodb.server.sharding import Sharding
from tests.support.mongodb.server.store import Collection, Store, View
from tests.support.mongodb.server.users import Privilege, User
from tests.support.mongodb.server.wire import MAX_DOCUMENT_BYTES, Document


@dataclass
class Transaction:
    """A multi-document transaction. `state` is open, committed or aborted."""

    lsid: Document
    number: int
    view: View
    changes: list[Change] = field(default_factory=list)
    # Collections that it creates; nobody else sees them until it commits.
    created: dict[Namespace, Collection] = field(default_factory=dict)
    state: str = "open"


ORDER_SEED = int(os.environ.get("MONGODB_ORDER_SEED", "1"))


@dataclass
class Session:
    """What a member knows of one client session: its transaction, its last retryable write."""

    transaction: Transaction | None = None
    write_number: int = -1
    write_reply: Document | None = None


@dataclass
class Deployment:
    """A replica set without its sockets; also a shard of a cluster, or its router.

    A shard writes into a log of its own, a router into those of all shards. They share everything
    else: `store` holds the documents of the whole cluster, and a shard sees those that it `owns`.
    """

    topology: Topology
    users: tuple[User, ...] = ()
    max_event_bytes: int = MAX_DOCUMENT_BYTES
    clock: Clock = field(default_factory=Clock)
    logs: list[Oplog] = field(default_factory=list)
    oplog: History = field(init=False)
    is_router: bool = False
    shards: list["Deployment"] = field(default_factory=list)
    store: Store = field(default_factory=Store)
    sessions: dict[bytes, Session] = field(default_factory=dict)
    # Reads at an earlier time are refused with 239.
    history_start: Timestamp = field(default_factory=lambda: Timestamp(0, 0))
    changed: threading.Condition = field(default_factory=threading.Condition)
    sharding: Sharding = field(default_factory=Sharding)
    # What `createRole` made; a user gets its privileges.
    roles: dict[str, tuple[Privilege, ...]] = field(default_factory=dict)
    # What `modifyChangeStreams` enabled; an empty name stands for all.
    stream_namespaces: set[Namespace] = field(default_factory=set)
    # What config servers list the shards of.
    router: "Deployment | None" = None
    # When a shard was added.
    added: Timestamp | None = None
    # The number of the shard that it is of a cluster.
    shard: int | None = None
    # The index returns another value of an `_id` that is a decimal, as one of 4.9 did.
    rounds_decimals: bool = False
    # Of one operation, from 9.0 on.
    most_memory_bytes: int = 1 << 30
    # Of documents that are found without a sort.
    order: Random | None = field(default_factory=lambda: Random(ORDER_SEED))
    # Where a replica set of its own keeps its entries over a kill.
    journal: Journal | None = None

    def __post_init__(self) -> None:
        if self.is_router:
            self.oplog = MergedHistory(self.logs)
        else:
            self.logs = [Oplog(self.clock)]
            self.oplog = self.logs[0]
        if self.journal is not None:
            written = list(self.journal.entries())
            self.logs[0].restore(written)
            for entry in written:
                self.store.apply(entry)
            # Every election has an entry, and clients believe no primary of an earlier term.
            self.topology.term = len(written)

    def new_shard(self, topology: Topology) -> "Deployment":
        """Another shard of the cluster that this is the router of."""
        shard = Deployment(
            topology,
            self.users,
            self.max_event_bytes,
            clock=self.clock,
            store=self.store,
            sessions=self.sessions,
            changed=self.changed,
            sharding=self.sharding,
            shard=len(self.logs),
        )
        # The oplog of a replica set is older than its addition to a cluster.
        shard.added = self.clock.tick()
        self.shards.append(shard)
        self.logs += shard.logs
        self.sharding.shards = len(self.logs)
        for namespace in self.sharding.keys:
            self.place_anew(namespace)
        return shard

    def place_anew(self, namespace: Namespace) -> None:
        """The documents of a collection are spread over the present shards."""
        collection = self.store.collection(namespace)
        if collection is not None:
            collection.place_anew(lambda document: self.sharding.place(namespace, document))

    def in_any_order(self, documents: Iterable[Document]) -> list[Document]:
        """As no server promises another one. `order` is None where it is that of the inserts."""
        found = list(documents)
        if self.order is not None:
            self.order.shuffle(found)
        return found

    @property
    def owns(self) -> Callable[[Namespace, Document], bool] | None:
        """Whether a document is here; None where all are."""
        if self.shard is None:
            return None
        return lambda namespace, document: self.sharding.shard_of(namespace, document) == self.shard

    def has_streams(self, namespace: Namespace) -> bool:
        """Whether change streams have the changes of a collection."""
        database, _ = namespace
        enabling = {("", ""), (database, ""), namespace}
        is_optional = self.topology.release.is_documentdb
        return not is_optional or not self.stream_namespaces.isdisjoint(enabling)

    def commit(
        self, changes: tuple[Change, ...], transaction: tuple[Document, int] | None = None
    ) -> Timestamp:
        """One oplog entry, applied; on a router one on each shard that takes part, all of one time.
        The caller holds `changed`."""
        time = self.clock.tick()
        is_prepared = transaction is not None and len({each.shard for each in changes}) > 1
        for number, log in enumerate(self.logs):
            part = changes
            if self.is_router:
                part = tuple(change for change in changes if change.shard == number)
            if part or not self.is_router:
                entry = log.append(part, transaction, time, is_prepared=is_prepared)
                if self.journal is not None:
                    self.journal.append(entry)
                self.store.apply(entry)
        self.changed.notify_all()
        return time

    def elect(self, new: Member) -> None:
        """Make a member primary; operations on the old one are interrupted. The caller holds
        `changed`."""
        old = self.topology.primary
        if old is new:
            return
        self.topology.elect(new)
        # An elected member has everything that a majority has.
        new.stands_at = None
        if old is not None:
            old.epoch += 1
        self.commit(())

    def session(self, lsid: Document) -> Session:
        return self.sessions.setdefault(bytes(lsid["id"]), Session())

    def writer_of(self, namespace: Namespace, key: bytes) -> Transaction | None:
        """The open transaction that wrote a document, if any."""
        for session in self.sessions.values():
            transaction = session.transaction
            if transaction is None or transaction.state != "open":
                continue
            if (namespace, key) in transaction.view.written:
                return transaction
        return None

    def last_write(self) -> Document:
        if self.is_router:
            return {}
        (oplog,) = self.logs
        newest, majority = oplog.entry(oplog.end - 1), oplog.entry(oplog.majority_end - 1)
        return {
            "opTime": self._op_time(newest),
            "lastWriteDate": newest.wall_time,
            "majorityOpTime": self._op_time(majority),
            "majorityWriteDate": majority.wall_time,
        }

    def majority_time(self, history: History) -> Timestamp:
        """Up to where a reader of the majority sees. A silent shard does not hold a router back."""
        if self.is_router and history.is_on_majority(history.time):
            return history.time
        return history.majority_time

    def times(self, operation_time: Timestamp) -> Document:
        """Fields of every reply of a replica set."""
        if self.topology.is_standalone:
            return {}
        signature: dict[str, Any] = {"hash": bytes(20), "keyId": Int64(0)}
        return {
            "operationTime": operation_time,
            "$clusterTime": {"clusterTime": self.oplog.time, "signature": signature},
        }

    def _op_time(self, entry: Entry) -> Document:
        return {"ts": entry.time, "t": Int64(self.topology.term)}
