"""Starts `mongod` and `mongos` programs as a replica set or a sharded cluster."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tests.acceptance.mongo_real.initiation import (
    direct,
    initiate,
    primary_of,
    wait_for,
    wait_for_primary,
)
from tests.support.mongodb.server.client import Client
from tests.support.servers.processes import ServerProcess, free_port

OPLOG_MIB = 64
SET_NAME = "proof"


@dataclass(frozen=True, slots=True)
class Program:
    """A `mongod` of one set, or a `mongos`."""

    address: str
    process: ServerProcess

    def wait(self) -> None:
        """Wait until it answers."""
        wait_for(self.address, "ok", self.process)


@dataclass(frozen=True, slots=True)
class ReplicaSetPrograms:
    """The members of one replica set."""

    name: str
    members: Sequence[Program]

    @property
    def addresses(self) -> list[str]:
        return [member.address for member in self.members]

    @property
    def hosts(self) -> str:
        """Format of `addShard` and `--configdb`."""
        return f"{self.name}/{','.join(self.addresses)}"

    @property
    def connection_string(self) -> str:
        return f"mongodb://{','.join(self.addresses)}/?replicaSet={self.name}"

    def start(self) -> None:
        """Start the stopped members."""
        for member in self.members:
            if not member.process.is_running:
                member.process.start()

    def initiate(self, *, is_config_server: bool = False) -> None:
        for member in self.members:
            member.wait()
        initiate(self.name, self.addresses, is_config_server=is_config_server)

    def restart(self) -> None:
        self.start()
        wait_for_primary(self.addresses)

    def kill_primary(self) -> str:
        wait_for_primary(self.addresses)
        primary = next(each for each in self.members if each.address == primary_of(self.addresses))
        primary.process.kill()
        return primary.address

    def kill_all(self) -> None:
        for member in self.members:
            member.process.kill()

    def documents_by_shard(self, _database: str, _collection: str) -> Mapping[str, int]:
        return {}


@dataclass(frozen=True, slots=True)
class ClusterPrograms:
    """Shards, a config server and a router."""

    shards: Sequence[ReplicaSetPrograms]
    config_server: ReplicaSetPrograms
    router: Program

    @property
    def connection_string(self) -> str:
        return f"mongodb://{self.router.address}/"

    def kill_primary(self) -> str:
        return self.shards[0].kill_primary()

    def kill_all(self) -> None:
        for shard in self.shards:
            shard.kill_all()
        self.router.process.kill()

    def restart(self) -> None:
        for shard in self.shards:
            shard.restart()
        if not self.router.process.is_running:
            self.router.process.start()
        self.router.wait()

    def documents_by_shard(self, database: str, collection: str) -> Mapping[str, int]:
        found = {}
        for shard in self.shards:
            with Client(shard.connection_string) as client:
                found[shard.name] = client[database][collection].count_documents({})
        return found


@dataclass(frozen=True, slots=True)
class ProgramStarter:
    """Starts the programs in folders of `directory`; leaving the context ends them."""

    mongod: str
    mongos: str | None
    directory: Path
    oplog_mib: int = OPLOG_MIB
    cache_gb: float = 0.25

    @contextlib.contextmanager
    def replica_set(self) -> Iterator[ReplicaSetPrograms]:
        """Three members."""
        with ExitStack() as stack:
            started = self._set(stack, SET_NAME, 3)
            started.start()
            started.initiate()
            yield started

    @contextlib.contextmanager
    def cluster(self) -> Iterator[ClusterPrograms]:
        """Two shards of one member, a config server and a router."""
        assert self.mongos is not None
        with ExitStack() as stack:
            config = self._set(stack, "config", 1, "--configsvr")
            shards = [self._set(stack, f"shard{number}", 1, "--shardsvr") for number in range(2)]
            for each in (config, *shards):
                each.start()
            config.initiate(is_config_server=True)
            for shard in shards:
                shard.initiate()
            command = [self.mongos, "--configdb", config.hosts]
            router = self._program(stack, "mongos", command)
            router.process.start()
            router.wait()
            with direct(router.address) as client:
                for shard in shards:
                    client.admin.command("addShard", shard.hosts)
            yield ClusterPrograms(shards, config, router)

    def _set(
        self, stack: ExitStack, name: str, members: int, role: str | None = None
    ) -> ReplicaSetPrograms:
        return ReplicaSetPrograms(
            name, [self._member(stack, name, number, role) for number in range(members)]
        )

    def _member(self, stack: ExitStack, name: str, number: int, role: str | None) -> Program:
        folder = self.directory / f"{name}-{number}"
        folder.mkdir(parents=True)
        command = [self.mongod, "--replSet", name, "--dbpath", str(folder)]
        # The server truncates the oplog only before its last checkpoint, here each second.
        command += ["--oplogSize", str(self.oplog_mib), "--syncdelay", "1"]
        command += ["--wiredTigerCacheSizeGB", str(self.cache_gb)]
        # A client test repeats a commit, which a server allows with test commands.
        command += ["--setParameter", "enableTestCommands=1"]
        command += [role] if role else []
        return self._program(stack, f"{name}-{number}", command)

    def _program(self, stack: ExitStack, name: str, command: Sequence[str]) -> Program:
        port = free_port()
        process = ServerProcess(
            name,
            [*command, "--bind_ip", "127.0.0.1", "--port", str(port), "--nounixsocket"],
            self.directory / f"{name}.log",
        )
        stack.callback(_end, process)
        return Program(f"127.0.0.1:{port}", process)


def _end(process: ServerProcess) -> None:
    if process.is_running:
        process.kill()
