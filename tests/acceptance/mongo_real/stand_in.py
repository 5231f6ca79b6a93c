"""Stand-ins for `mongod` and `mongos`, to test how the programs are started and killed.

A stand-in only reports to this process that it is alive. The members of the tests' own server run
in this process and store their data on disk: a member is up while its program lives. Nothing is
replicated or recovered, and the programs of a cluster only guard its ports.
"""

import contextlib
import json
import socketserver
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from tests.support.mongodb.server import MongoReplicaSet, MongoShardedCluster
from tests.support.mongodb.server.releases import DEFAULT

_MEMBERS: Mapping[str, int] = {"proof": 3, "config": 1, "shard0": 1, "shard1": 1}
_SHARDS = ("shard0", "shard1")
_PROGRAM = """#!{python}
import argparse, asyncio, json, os, signal, sys

parser = argparse.ArgumentParser(allow_abbrev=False)
for name in {options}:
    parser.add_argument(name, required=True)
for name in ("--nounixsocket", "--shardsvr", "--configsvr"):
    parser.add_argument(name, action="store_true")
parser.add_argument("--setParameter")
given = vars(parser.parse_args())
if "dbpath" in given and not os.path.isdir(given["dbpath"]):
    sys.exit("no such folder: " + given["dbpath"])
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))


async def pump(reader, writer):
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()
    writer.close()


async def main():
    reader, writer = await asyncio.open_unix_connection({control!r})
    writer.write(json.dumps(given).encode() + b"\\n")
    port = int(await reader.readline())
    if not port:
        await reader.read()

    async def serve(client_reader, client_writer):
        router_reader, router_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(
            pump(client_reader, router_writer),
            pump(router_reader, client_writer),
            return_exceptions=True,
        )

    server = await asyncio.start_server(serve, given["bind_ip"], int(given["port"]))
    await server.serve_forever()


asyncio.run(main())
"""
_MONGOD = "--replSet --dbpath --bind_ip --port --oplogSize --syncdelay --wiredTigerCacheSizeGB"
_MONGOS = "--configdb --bind_ip --port"


class StandIn:
    """As a context manager: writes the programs into a folder and serves running ones."""

    def __init__(self, directory: Path, version: str = DEFAULT.version) -> None:
        self.mongod, self.mongos = directory / "mongod", directory / "mongos"
        self._version = version
        self._stack = contextlib.ExitStack()
        self._lock = threading.Lock()
        self._ports: dict[str, list[int]] = {}
        self._sets: dict[str, MongoReplicaSet] = {}
        self._cluster: MongoShardedCluster | None = None
        # The path of a socket must be short.
        self._folder = tempfile.TemporaryDirectory()
        self._control = _Control(f"{self._folder.name}/control", self)
        self._thread = threading.Thread(target=self._control.serve_forever, name="control")
        for path, options in ((self.mongod, _MONGOD), (self.mongos, _MONGOS)):
            program = _PROGRAM.format(
                python=sys.executable,
                options=options.split(),
                control=f"{self._folder.name}/control",
            )
            path.write_text(program)
            path.chmod(0o755)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._control.shutdown()
        self._thread.join()
        self._control.server_close()
        self._folder.cleanup()
        self._stack.__exit__(*exception)

    def begin(self, given: Mapping[str, str]) -> int:
        """Register a running program; returns the port that it forwards to, or 0."""
        if "configdb" in given:
            assert self._cluster is not None
            return int(self._cluster.connection_string.rstrip("/").rpartition(":")[2])
        name, port = given["replSet"], int(given["port"])
        with self._lock:
            ports = self._ports.setdefault(name, [])
            if port not in ports:
                ports.append(port)
                self._start_whole(name, int(given["oplogSize"]) << 20)
                return 0
            replica_set, address = self._sets[name], f"127.0.0.1:{port}"
            replica_set.start_member(address)
            if replica_set.primary is None:
                replica_set.elect(address)
        return 0

    def end(self, given: Mapping[str, str]) -> None:
        """Unregister a program that has ended."""
        with self._lock:
            if (replica_set := self._sets.get(given.get("replSet", ""))) is not None:
                replica_set.stop_member(f"127.0.0.1:{given['port']}")

    def _start_whole(self, name: str, oplog_bytes: int) -> None:
        """Start a set when all its programs run; shards start together."""
        if len(self._ports[name]) < _MEMBERS[name]:
            return
        if name not in _SHARDS:
            started = MongoReplicaSet(name=name, ports=self._ports[name], version=self._version)
            started.limit_oplog(oplog_bytes)
            self._sets[name] = self._stack.enter_context(started)
        elif all(shard in self._ports for shard in _SHARDS):
            ports = [self._ports[shard] for shard in _SHARDS]
            self._cluster = MongoShardedCluster(version=self._version, shard_ports=ports)
            self._stack.enter_context(self._cluster)
            self._sets |= zip(_SHARDS, self._cluster.shards, strict=True)


class _Control(socketserver.ThreadingUnixStreamServer):
    """Server to which programs report that they run."""

    def __init__(self, path: str, stand_in: StandIn) -> None:
        super().__init__(path, _Life)
        self.stand_in = stand_in


class _Life(socketserver.StreamRequestHandler):
    """Lifetime of one program process."""

    server: _Control

    def handle(self) -> None:
        given = json.loads(self.rfile.readline())
        port = self.server.stand_in.begin(given)
        self.wfile.write(f"{port}\n".encode())
        # Until the process has ended.
        self.rfile.read()
        self.server.stand_in.end(given)
