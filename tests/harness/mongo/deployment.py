"""The state that all members share: one history, its readers and writers, one lock.

Members differ in role, cursors, connections and fail points, not in data: every write is on every
member at once, so nothing is ever rolled back. `changed` guards everything and tells of changes.
"""

import threading
from dataclasses import dataclass, field
from typing import Any

from bson import Int64, Timestamp

from tests.harness.mongo.members import Topology
from tests.harness.mongo.oplog import Change, Entry, Namespace, Oplog
from tests.harness.mongo.store import Store, View
from tests.harness.mongo.users import User
from tests.harness.mongo.wire import MAX_DOCUMENT_BYTES, Document


@dataclass
class Transaction:
    """A multi-document transaction. `state` is open, committed or aborted."""

    lsid: Document
    number: int
    view: View
    changes: list[Change] = field(default_factory=list)
    state: str = "open"


@dataclass
class Session:
    """What a member knows of one client session: its transaction, its last retryable write."""

    transaction: Transaction | None = None
    write_number: int = -1
    write_reply: Document | None = None


@dataclass
class Deployment:
    """A replica set without its sockets."""

    topology: Topology
    users: tuple[User, ...] = ()
    token_version: int = 2
    max_event_bytes: int = MAX_DOCUMENT_BYTES
    oplog: Oplog = field(default_factory=Oplog)
    store: Store = field(default_factory=Store)
    sessions: dict[bytes, Session] = field(default_factory=dict)
    # Reads at an earlier time are refused with 239.
    history_start: Timestamp = field(default_factory=lambda: Timestamp(0, 0))
    changed: threading.Condition = field(default_factory=threading.Condition)

    def commit(
        self, changes: tuple[Change, ...], transaction: tuple[Document, int] | None = None
    ) -> Entry:
        """One oplog entry, applied. The caller holds `changed`."""
        entry = self.oplog.append(changes, transaction)
        self.store.apply(entry)
        self.changed.notify_all()
        return entry

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
        oplog = self.oplog
        newest, majority = oplog.entry(oplog.end - 1), oplog.entry(oplog.majority_end - 1)
        return {
            "opTime": self._op_time(newest),
            "lastWriteDate": newest.wall_time,
            "majorityOpTime": self._op_time(majority),
            "majorityWriteDate": majority.wall_time,
        }

    def times(self) -> Document:
        """What every reply of a replica set carries."""
        if self.topology.is_standalone:
            return {}
        signature: dict[str, Any] = {"hash": bytes(20), "keyId": Int64(0)}
        return {
            "operationTime": self.oplog.time,
            "$clusterTime": {"clusterTime": self.oplog.time, "signature": signature},
        }

    def _op_time(self, entry: Entry) -> Document:
        return {"ts": entry.time, "t": Int64(self.topology.term)}
