"""One command on its way through a member: what it reads from, how it writes, how it waits."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from bson import Timestamp

from tests.support.mongodb.server.deployment import Deployment, Transaction
from tests.support.mongodb.server.errors import CODE_NAMES, CommandError, ConnectionDroppedError
from tests.support.mongodb.server.member_history import MemberHistory
from tests.support.mongodb.server.members import Connection, Member
from tests.support.mongodb.server.oplog import Change, Namespace
from tests.support.mongodb.server.store import NEWEST, Collection, View, is_view, new_collection
from tests.support.mongodb.server.wire import Document, copied


@dataclass
class Context:
    """A command and the state around it. Whoever has one holds `deployment.changed`."""

    deployment: Deployment
    member: Member
    connection: Connection
    body: Document
    transaction: Transaction | None = None
    wrote_at: Timestamp | None = None
    read_at: Timestamp | None = None
    # A `getMore` found its cursor, and that is one of a change stream.
    is_on_stream: bool = False
    # The client gets no reply.
    loses_connection: bool = False
    epoch: int = field(init=False)

    def __post_init__(self) -> None:
        self.epoch = self.member.epoch

    @property
    def name(self) -> str:
        return next(iter(self.body))

    @property
    def database(self) -> str:
        return str(self.body["$db"])

    @property
    def is_retryable(self) -> bool:
        """A write that the client may send again under the same number."""
        body = self.body
        return "txnNumber" in body and "autocommit" not in body and "lsid" in body

    @property
    def history(self) -> MemberHistory:
        """The oplog as this member has it."""
        return MemberHistory(self.deployment.oplog, self.member)

    @property
    def namespace(self) -> Namespace:
        """Of a command whose first field names its collection."""
        collection = self.body[self.name]
        if not isinstance(collection, str) or not collection:
            raise CommandError(73, f"collection name has invalid type for {self.name}")
        return self.database, collection

    def wait(
        self, is_so: Callable[[], bool], timeout_s: float, *, survives_elections: bool = False
    ) -> bool:
        """Wait for a change of the deployment; false after the timeout. Raises when interrupted."""
        deadline = time.monotonic() + timeout_s
        while not is_so():
            self.check(survives_elections=survives_elections)
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                return False
            self.deployment.changed.wait(remaining)
        self.check(survives_elections=survives_elections)
        return True

    def check(self, *, survives_elections: bool = False) -> None:
        """Raise when the connection went or the member changed its role."""
        if self.connection.is_closed:
            raise ConnectionDroppedError
        if self.member.epoch != self.epoch and not survives_elections:
            raise CommandError(11602, "operation was interrupted")

    def view(self) -> View:
        """What this command reads, by its transaction or its `readConcern`."""
        if self.transaction is not None:
            return self.transaction.view
        deployment, history = self.deployment, self.history
        concern: Mapping[str, Any] = self.body.get("readConcern", {})
        if "afterClusterTime" in concern and deployment.topology.release.is_documentdb:
            raise CommandError(303, "Feature not supported: Causal consistency")
        self._await_time(concern.get("afterClusterTime"))
        if concern.get("level") == "snapshot":
            if not deployment.topology.release.has_snapshot_reads:
                message = "readConcern level snapshot is only valid in a transaction"
                raise CommandError(72, message)
            at: Timestamp = concern.get("atClusterTime", deployment.majority_time(history))
            if at < deployment.history_start:
                message = f"Read timestamp {at} is older than the oldest available timestamp."
                raise CommandError(239, message)
            if at > deployment.oplog.time:
                message = (
                    "readConcern atClusterTime value must not be greater than the current "
                    f"clusterTime. Requested clusterTime: {at}"
                )
                raise CommandError(72, message)
            self._await_time(at)
            self.read_at = at
            return View(deployment.store, at, owns=deployment.owns)
        if concern.get("level") in ("majority", "linearizable"):
            time = deployment.majority_time(history)
            return View(deployment.store, time, owns=deployment.owns)
        time = NEWEST if self.member.stands_at is None else history.time
        return View(deployment.store, time, owns=deployment.owns)

    def _await_time(self, time: Timestamp | None) -> None:
        """Wait until the member has what was written up to a time."""
        if time is None:
            return
        history = self.history
        timeout_s = self.body.get("maxTimeMS", 0) / 1000 or 24 * 3600
        if not self.wait(lambda: history.time >= time, timeout_s):
            raise CommandError(50, "operation exceeded time limit")

    def place(self, namespace: Namespace, document: Document) -> bytes:
        return self.deployment.sharding.place(namespace, document)

    def write_view(self) -> View:
        return (
            self.transaction.view
            if self.transaction is not None
            else View(self.deployment.store, owns=self.deployment.owns)
        )

    def collection(self, namespace: Namespace) -> Collection | None:
        if self.transaction is not None and namespace in self.transaction.created:
            return self.transaction.created[namespace]
        return self.deployment.store.collection(namespace)

    def created(self, namespace: Namespace, options: Mapping[str, Any] | None = None) -> Collection:
        """The collection, made when it is not there; in a transaction for that alone, until the
        commit."""
        found = self.collection(namespace)
        if found is None:
            description = {**(options or {})}
            of_view = is_view(description)
            if not of_view:
                description["idIndex"] = {"v": 2, "key": {"_id": 1}, "name": "_id_"}
            uuid = uuid4()
            self.commit(
                Change("create", *namespace, uuid=uuid, description=description, is_view=of_view)
            )
            found = self.collection(namespace)
            assert found is not None
        return found

    def write(
        self,
        namespace: Namespace,
        operation: str,
        before: Document | None,
        after: Document | None,
        update: Document | None = None,
    ) -> None:
        """One change of a document, in the transaction or at once."""
        if self.is_retryable:
            self._fail_write()
        collection = self.created(namespace)
        document = before if before is not None else after
        assert document is not None
        sharding = self.deployment.sharding
        change = Change(
            operation,
            *namespace,
            uuid=collection.uuid,
            document_id=document["_id"],
            shard_key=sharding.key(namespace, document),
            shard=sharding.shard_of(namespace, document),
            place=sharding.place(namespace, document),
            before=before,
            after=copied(after) if after is not None else None,
            update=update,
            has_images=collection.has_images,
        )
        self.commit(change)
        if self.transaction is None:
            return
        self.transaction.view.written[namespace, change.place] = change.after

    def _fail_write(self) -> None:
        fail_point = self.member.write_fail_point
        if fail_point is None or not fail_point.hits():
            return
        self.loses_connection |= fail_point.closes_connection
        if fail_point.error is not None:
            raise fail_point.error

    def commit(self, change: Change) -> None:
        """Write a change now, or with the commit of the transaction."""
        if self.transaction is not None:
            self.transaction.changes.append(change)
            if change.operation == "create":
                self.transaction.created[change.namespace] = new_collection(change)
            return
        self.wrote_at = self.deployment.commit((change,))

    def claim(self, namespace: Namespace, key: bytes) -> None:
        """Before a write: a conflict ends a transaction, an ordinary write waits for the other."""
        deployment = self.deployment
        if self.transaction is None:
            is_free = self.wait(lambda: deployment.writer_of(namespace, key) is None, 60)
            if not is_free:
                raise CommandError(50, "operation exceeded time limit")
            return
        other = deployment.writer_of(namespace, key)
        collection = self.collection(namespace)
        versions = collection.documents.get(key) if collection is not None else None
        is_newer = versions is not None and versions.changed_at > self.transaction.view.time
        if is_newer or other not in (None, self.transaction):
            raise CommandError(112, "Write conflict during plan execution.")

    def await_concern(self) -> Document:
        """Wait until the write is where its write concern wants it; else `writeConcernError`."""
        concern: Mapping[str, Any] = self.body.get("writeConcern", {})
        # From 5.0 on a write waits for the majority unless it says otherwise.
        if concern.get("w", "majority") in (0, 1):
            return {}
        if (impossible := self._impossible_concern(concern.get("w", "majority"))) is not None:
            return {"writeConcernError": impossible}
        if self.wrote_at is None:
            return {}
        wrote_at = self.wrote_at
        timeout_s = concern.get("wtimeout", 0) / 1000 or 24 * 3600
        if self.wait(lambda: self.deployment.oplog.is_on_majority(wrote_at), timeout_s):
            return {}
        message = "waiting for replication timed out"
        error = {"code": 64, "codeName": "WriteConcernFailed", "errmsg": message}
        return {"writeConcernError": {**error, "errInfo": {"wtimeout": True}}}

    def _impossible_concern(self, wanted: int | str) -> Document | None:
        """The error of a write concern that no set of this shape can reach."""
        if self.deployment.is_router:
            return None
        if isinstance(wanted, str):
            if wanted == "majority":
                return None
            message = f"No write concern mode named '{wanted}' found in replica set configuration"
            return {"code": 79, "codeName": CODE_NAMES[79], "errmsg": message}
        bearing = [each for each in self.deployment.topology.members if not each.is_arbiter]
        if wanted <= len(bearing):
            return None
        message = "Not enough data-bearing nodes"
        return {"code": 100, "codeName": CODE_NAMES[100], "errmsg": message}


def snapshot_view(deployment: Deployment, at: Timestamp | None) -> View:
    """What a transaction reads: its `atClusterTime`, or now."""
    time = at if at is not None else deployment.oplog.time
    return View(deployment.store, time, owns=deployment.owns)
