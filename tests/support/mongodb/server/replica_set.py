"""A replica set on loopback as a context manager."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

from bson import Timestamp

from tests.support.mongodb.server.deployment import Deployment
from tests.support.mongodb.server.journal import Journal
from tests.support.mongodb.server.listener import Listener, bound_socket
from tests.support.mongodb.server.members import Member, Topology
from tests.support.mongodb.server.releases import DEFAULT, Release
from tests.support.mongodb.server.users import User
from tests.support.mongodb.server.wire import MAX_DOCUMENT_BYTES, Document
from tests.support.servers.errors import ServerFailedError


class MongoReplicaSet:
    """`with MongoReplicaSet(members=3) as replica_set:` gives members that listen on free ports.

    With `users`, clients have to authenticate (SCRAM-SHA-256). `version` is the release that it
    behaves as (`releases`), with `is_documentdb` Amazon DocumentDB of that release.
    `max_event_bytes` is what one event may weigh. Every `noop_interval_s` seconds without a write a
    no-op moves the cluster time, as on a real primary. `ports` are those of the members, else free
    ones. Behind `members` come `arbiters` and `hidden` secondaries.
    `tags` are those of the first members. One that is not initiated waits for `initiate`. With
    `tls` members speak only that. `shard_of` is the router of the cluster that it is part of
    (`MongoShardedCluster`). With a `journal` it begins with what an earlier one wrote there.
    Documents that are found without a sort have any order, by MONGODB_ORDER_SEED; with
    `keeps_order` that of their inserts, which tests of drivers rely on. Leaving the block stops all
    members and raises what went wrong inside of them.
    """

    def __init__(
        self,
        members: int = 1,
        *,
        name: str = "rs0",
        users: Sequence[User] = (),
        version: str = DEFAULT.version,
        max_event_bytes: int = MAX_DOCUMENT_BYTES,
        noop_interval_s: float = 10,
        is_standalone: bool = False,
        is_initiated: bool = True,
        is_config_server: bool = False,
        is_documentdb: bool = False,
        arbiters: int = 0,
        hidden: int = 0,
        ports: Sequence[int] = (),
        tags: Sequence[Document] = (),
        shard_of: Deployment | None = None,
        tls: ssl.SSLContext | None = None,
        journal: Path | None = None,
        keeps_order: bool = False,
    ) -> None:
        release = Release(version, is_documentdb)
        self._sockets: dict[str, socket.socket] = {}
        for port in ports or [0] * (members + arbiters + hidden):
            bound = bound_socket(port)
            self._sockets[f"127.0.0.1:{bound.getsockname()[1]}"] = bound
        addressed = [Member(address) for address in self._sockets]
        for number, member in enumerate(addressed[len(addressed) - arbiters - hidden :]):
            member.is_arbiter = number < arbiters
            member.is_hidden = not member.is_arbiter
        for member, of_member in zip(addressed, tags, strict=False):
            member.tags = of_member
        topology = Topology(
            name, addressed, is_standalone, is_initiated, is_config_server, release=release
        )
        self._tls = tls
        self.name = name
        if shard_of is None:
            kept = None if journal is None else Journal(journal)
            self._deployment = Deployment(topology, tuple(users), max_event_bytes, journal=kept)
            if keeps_order:
                self._deployment.order = None
        else:
            self._deployment = shard_of.new_shard(topology)
        self._listeners: dict[str, Listener] = {}
        self._failures: list[BaseException] = []
        self._noop_interval_s = noop_interval_s
        self._is_stopping = threading.Event()
        self._noop_writer = threading.Thread(target=self._write_noops, name=f"no-ops of {name}")

    def list_shards_of(self, router: Deployment) -> None:
        """As the config servers of a cluster do."""
        self._deployment.router = router

    @property
    def members(self) -> list[str]:
        """`host:port` of every member."""
        return [member.name for member in self._deployment.topology.members]

    @property
    def primary(self) -> str | None:
        member = self._deployment.topology.primary
        return member.name if member is not None else None

    @property
    def connection_string(self) -> str:
        """For clients that bring their credentials by themselves."""
        if self._deployment.topology.is_standalone:
            return f"mongodb://{self.members[0]}/"
        return f"mongodb://{','.join(self.members)}/?replicaSet={self.name}"

    @property
    def cluster_time(self) -> Timestamp:
        return self._deployment.oplog.time

    @property
    def open_cursors(self) -> int:
        """Cursors that clients have open, on all members."""
        with self._deployment.changed:
            return sum(len(member.cursors) for member in self._deployment.topology.members)

    def streams_of(self, address: str) -> int:
        """Change streams that clients have open on a member."""
        with self._deployment.changed:
            cursors = self._member(address).cursors.values()
            return sum(cursor.stream is not None for cursor in cursors)

    def __enter__(self) -> Self:
        for address in self.members:
            self.start_member(address)
        if self._deployment.topology.is_initiated:
            self.elect(self.members[0])
        self._noop_writer.start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: Any) -> None:
        self._is_stopping.set()
        self._noop_writer.join()
        for address in self.members:
            if address in self._listeners:
                self._stop_listener(address)
        for bound in self._sockets.values():
            bound.close()
        if self._deployment.journal is not None:
            self._deployment.journal.close()
        if not self._failures:
            return
        if error is None:
            raise ServerFailedError(f"a member of {self.name} failed") from self._failures[0]
        error.add_note(f"a member of {self.name} failed: {self._failures[0]!r}")

    def elect(self, address: str) -> None:
        """Make a member primary; the old one steps down and its operations are interrupted."""
        with self._deployment.changed:
            self._deployment.elect(self._member(address))

    def initiate(self) -> None:
        """As by `rs.initiate()`."""
        self._deployment.topology.is_initiated = True
        self.elect(self.members[0])

    def step_down(self) -> None:
        """The primary steps down; the next running member in order is elected."""
        topology = self._deployment.topology
        with self._deployment.changed:
            old = topology.primary
            running = [each for each in topology.electable() if each is not old]
            if old is None or not running:
                raise ValueError("a step-down needs a primary and another member that runs")
            self.elect(running[0].name)
            old.drop_connections()

    def lose_primary(self) -> None:
        """Nobody is primary, until `elect`."""
        topology = self._deployment.topology
        with self._deployment.changed:
            if topology.primary is not None:
                topology.primary.epoch += 1
            topology.elect(None)
            self._deployment.changed.notify_all()

    def stop_member(self, address: str) -> None:
        """As by a kill: its cursors are gone. Another running member becomes primary."""
        topology = self._deployment.topology
        with self._deployment.changed:
            member = self._member(address)
            member.is_up = False
            running = topology.electable()
            if topology.primary is member:
                topology.elect(running[0] if running else None)
                self._deployment.commit(())
        self._stop_listener(address)
        with self._deployment.changed:
            member.cursors.clear()

    def start_member(self, address: str) -> None:
        """Start a member that does not run, on the port that it had."""
        bound = self._sockets.pop(address, None)
        if bound is None:
            bound = bound_socket(int(address.rpartition(":")[2]))
        with self._deployment.changed:
            member = self._member(address)
            member.is_up = True
            member.version += 1
            self._listeners[address] = Listener(self._deployment, member, bound, self._tls)
        self._listeners[address].start()

    def set_users(self, users: Sequence[User]) -> None:
        """Those of connections from now on."""
        self._deployment.users = tuple(users)

    def drop_connections(self) -> None:
        """Close every client's connection, in the middle of whatever it does."""
        with self._deployment.changed:
            for member in self._deployment.topology.members:
                member.drop_connections()
            self._deployment.changed.notify_all()

    def kill_cursors(self) -> None:
        """Close every cursor, as an administrator can."""
        with self._deployment.changed:
            for member in self._deployment.topology.members:
                member.cursors.clear()
            self._deployment.changed.notify_all()

    def write_noop(self) -> Timestamp:
        """Move the cluster time by an entry without changes."""
        with self._deployment.changed:
            return self._deployment.commit(())

    def pass_time(self, seconds: int) -> None:
        """Cluster times are so much later from now on."""
        with self._deployment.changed:
            self._deployment.clock.ahead_s += seconds

    def set_clock(self, ahead_ms: int) -> None:
        """The clock of the primary is so far ahead from now on, or behind. Cluster times never go
        back."""
        with self._deployment.changed:
            self._deployment.clock.wall_ahead_ms = ahead_ms

    def limit_memory(self, most_bytes: int) -> None:
        """What the images of one reply may weigh, from 9.0 on. Open streams keep their limit."""
        with self._deployment.changed:
            self._deployment.most_memory_bytes = most_bytes

    def count_time_from(self, time_s: int) -> None:
        """Cluster times are counted from this one on, which is later than now: each run has the
        same."""
        with self._deployment.changed:
            self._deployment.clock.count_from(time_s)

    def limit_oplog(self, most_bytes: int) -> None:
        """Forget the oldest entries when the documents of the oplog weigh more."""
        with self._deployment.changed:
            self._deployment.logs[0].most_bytes = most_bytes

    def truncate_oplog(self) -> None:
        """Forget all of the oplog but its last entry."""
        with self._deployment.changed:
            self._deployment.logs[0].truncate()
            self._deployment.changed.notify_all()

    def expire_history(self) -> None:
        """Refuse snapshot reads at times before now (239)."""
        with self._deployment.changed:
            self._deployment.history_start = self._deployment.commit(())

    @contextlib.contextmanager
    def stalled_majority(self) -> Iterator[None]:
        """Inside of the block no write gets a majority, and no change stream moves."""
        oplog = self._deployment.logs[0]
        with self._deployment.changed:
            oplog.stall_majority()
        try:
            yield
        finally:
            with self._deployment.changed:
                oplog.restore_majority()
                self._deployment.changed.notify_all()

    @contextlib.contextmanager
    def lagging(self, address: str) -> Iterator[None]:
        """Inside the block a secondary stops replicating; the others continue."""
        member = self._member(address)
        with self._deployment.changed:
            if member is self._deployment.topology.primary:
                raise ValueError("a primary has what it wrote")
            member.stands_at = self.cluster_time
        try:
            yield
        finally:
            with self._deployment.changed:
                member.stands_at = None
                self._deployment.changed.notify_all()

    def _member(self, address: str) -> Member:
        return next(each for each in self._deployment.topology.members if each.name == address)

    def _stop_listener(self, address: str) -> None:
        listener = self._listeners.pop(address)
        listener.stop()
        self._failures += listener.failures

    def _write_noops(self) -> None:
        last = self.cluster_time
        while not self._is_stopping.wait(self._noop_interval_s):
            if self.cluster_time == last and self.primary is not None:
                self.write_noop()
            last = self.cluster_time
