"""A sharded cluster on loopback as a context manager: replica sets with a router in front."""

import socket
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, Self

from bson import Timestamp

from tests.support.mongodb.server.deployment import Deployment
from tests.support.mongodb.server.listener import Listener, bound_socket
from tests.support.mongodb.server.members import Member, RouterTopology
from tests.support.mongodb.server.releases import DEFAULT, Release
from tests.support.mongodb.server.replica_set import MongoReplicaSet
from tests.support.mongodb.server.users import User
from tests.support.servers.errors import ServerFailedError


class MongoShardedCluster:
    """`with MongoShardedCluster(shards=2) as cluster:` gives a router and its shards.

    `client.admin.command("shardCollection", "shop.orders", key={"region": 1})` spreads a
    collection, else its documents are on the first shard. A stream through the router waits for
    every shard: one that is silent says by a no-op, every `noop_interval_s` seconds, that it has
    nothing. `refuses_direct_operations` is what MongoDB 8.0 does where there are `users`. Several
    `routers` know nothing of each other's cursors. `shard_ports` are those of the members of each
    shard, else free ones.
    """

    def __init__(
        self,
        shards: int = 2,
        *,
        members: int = 1,
        routers: int = 1,
        users: Sequence[User] = (),
        version: str = DEFAULT.version,
        noop_interval_s: float = 0.02,
        refuses_direct_operations: bool = False,
        shard_ports: Sequence[Sequence[int]] = (),
    ) -> None:
        sockets: list[socket.socket] = [bound_socket() for _ in range(routers)]
        self._routers = [
            Member(f"127.0.0.1:{each.getsockname()[1]}", is_up=True) for each in sockets
        ]
        topology = RouterTopology("", self._routers, release=Release(version))
        topology.primary = self._routers[0]
        self._deployment = Deployment(topology, tuple(users), is_router=True)
        self._deployment.sharding.refuses_direct_operations = refuses_direct_operations
        self.shards = [
            MongoReplicaSet(
                members,
                name=f"shard{number}",
                version=version,
                shard_of=self._deployment,
                ports=shard_ports[number] if shard_ports else (),
            )
            for number in range(shards)
        ]
        self.config_server = MongoReplicaSet(
            name="config", version=version, users=users, is_config_server=True
        )
        self.config_server.list_shards_of(self._deployment)
        self._listeners = [
            Listener(self._deployment, router, bound)
            for router, bound in zip(self._routers, sockets, strict=True)
        ]
        self._noop_interval_s = noop_interval_s
        self._is_stopping = threading.Event()
        self._noop_writer = threading.Thread(target=self._write_noops, name="no-ops of shards")
        self._running = ExitStack()

    @property
    def connection_string(self) -> str:
        """Of the routers, for clients that bring their credentials by themselves."""
        return f"mongodb://{','.join(router.name for router in self._routers)}/"

    @property
    def cluster_time(self) -> Timestamp:
        return self._deployment.oplog.time

    def __enter__(self) -> Self:
        for replica_set in (*self.shards, self.config_server):
            self._running.enter_context(replica_set)
        for listener in self._listeners:
            listener.start()
        self._noop_writer.start()
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._is_stopping.set()
        self._noop_writer.join()
        for listener in self._listeners:
            listener.stop()
        self._running.__exit__(kind, error, trace)
        failures = [failure for each in self._listeners for failure in each.failures]
        if not failures:
            return
        if error is None:
            raise ServerFailedError("a router failed") from failures[0]
        error.add_note(f"a router failed: {failures[0]!r}")

    def set_clock(self, ahead_ms: int) -> None:
        """As of a replica set; the clocks of all shards."""
        with self._deployment.changed:
            self._deployment.clock.wall_ahead_ms = ahead_ms

    def write_noop(self) -> Timestamp:
        """Move the cluster time by an entry without changes, on each shard."""
        times = [shard.write_noop() for shard in self.shards]
        return max(times)

    def add_shard(self) -> MongoReplicaSet:
        """Documents of sharded collections move to it as by a balancer, without events."""
        with self._deployment.changed:
            added = MongoReplicaSet(
                name=f"shard{len(self.shards)}",
                version=self._deployment.topology.release.version,
                shard_of=self._deployment,
            )
            self.shards.append(added)
        self._running.enter_context(added)
        return added

    def remove_shard(self, name: str) -> None:
        """From the list alone: its documents have left it before."""
        with self._deployment.changed:
            left = [each for each in self._deployment.shards if each.topology.set_name != name]
            self._deployment.shards[:] = left

    def _write_noops(self) -> None:
        """Shards that wrote less than others say that they have nothing up to there."""
        while not self._is_stopping.wait(self._noop_interval_s):
            with self._deployment.changed:
                latest = self._deployment.oplog.time
                for log in self._deployment.logs:
                    if log.time < latest:
                        log.append((), time=latest)
                        self._deployment.changed.notify_all()
