"""The tested deployment, the allowed operations, and the protection of foreign databases."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import pymongo
from pymongo import MongoClient
from pymongo.errors import PyMongoError

from tests.support.mongodb.server.client import Client

_SELECTION_TIMEOUT_MS = 30_000


class RefusedError(Exception):
    """The proof cannot run on this server; the text contains reason and remedy."""


class NotApplicableError(Exception):
    """A case cannot run on this deployment; the text is the reason."""


class Processes(Protocol):
    """The server processes that the proof has started."""

    def kill_primary(self) -> str:
        """Send SIGKILL to the primary; returns its address."""

    def kill_all(self) -> None:
        """Send SIGKILL to every member."""

    def restart(self) -> None:
        """Start every stopped member, and wait for a primary."""

    def documents_by_shard(self, database: str, collection: str) -> Mapping[str, int]:
        """Number of documents on each shard; empty for a replica set."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """A replica set or a sharded cluster. `processes` is None if it was given by its URI.
    `keeps_images` is False if its release is too old."""

    connection_string: str
    version: tuple[int, ...]
    set_name: str | None
    members: int
    may_step_down: bool
    processes: Processes | None = None
    oplog_mib: int | None = None
    keeps_images: bool = True

    @property
    def has_images(self) -> bool:
        """Whether pre- and post-images are available."""
        return self.keeps_images and self.version >= (6, 0)

    @property
    def is_sharded(self) -> bool:
        return self.set_name is None

    @property
    def title(self) -> str:
        shape = "sharded cluster" if self.is_sharded else f"replica set of {self.members}"
        return f"{shape}, MongoDB {'.'.join(map(str, self.version))}"

    def own_processes(self) -> Processes:
        """Raises `NotApplicableError` for a deployment that was given by its URI."""
        if self.processes is None:
            raise NotApplicableError("the proof has not started the server: use MONGOD=…")
        return self.processes

    def require_images(self) -> None:
        """Raises `NotApplicableError` for a server without images."""
        self.require_version(6, 0)
        if not self.keeps_images:
            raise NotApplicableError("needs pre- and post-images: --no-images was given")

    def require_version(self, *version: int) -> None:
        """Raises `NotApplicableError` for an earlier release."""
        if self.version < version:
            raise NotApplicableError(f"needs MongoDB {'.'.join(map(str, version))}")


def connect(connection_string: str) -> Client:
    return MongoClient(
        connection_string,
        serverSelectionTimeoutMS=_SELECTION_TIMEOUT_MS,
        heartbeatFrequencyMS=500,
        # Without a majority, no write survives an election; 4.4 does not require one by default.
        w="majority",
        readConcernLevel="majority",
    )


def identify(
    connection_string: str,
    *,
    may_step_down: bool,
    processes: Processes | None = None,
    oplog_mib: int | None = None,
    keeps_images: bool = True,
) -> Deployment:
    """Query the kind of server. Raises `RefusedError` for a standalone server."""
    try:
        with connect(connection_string) as client:
            hello = client.admin.command("hello")
            version = client.admin.command("buildInfo")["versionArray"]
    except PyMongoError as error:
        raise RefusedError(f"The server does not answer: {error}") from error
    set_name = hello.get("setName")
    if set_name is None and hello.get("msg") != "isdbgrid":
        raise RefusedError(
            "The server is neither a member of a replica set nor a mongos: it has no change "
            "streams. Start it with --replSet and initiate the set."
        )
    return Deployment(
        connection_string,
        tuple(version[:3]),
        set_name,
        len(hello.get("hosts", ())),
        may_step_down,
        processes,
        oplog_mib,
        keeps_images,
    )


PREFIX = "cdc_sidecar_proof"
_DROP_S = 60.0


def databases_with(client: Client, prefix: str) -> list[str]:
    return sorted(name for name in client.list_database_names() if name.startswith(prefix))


@contextlib.contextmanager
def guarded(connection_string: str, prefix: str) -> Iterator[None]:
    """Drops every database with the prefix at the end, also after a failure or Ctrl-C.

    Raises `RefusedError` if one exists before.
    """
    with connect(connection_string) as client:
        if found := databases_with(client, prefix):
            raise RefusedError(
                f"The server already has {', '.join(found)}. If a run that was killed has left "
                "them, drop them with ARGS=--drop-leftovers; else choose ARGS='--prefix NAME'."
            )
        try:
            yield
        finally:
            # A hanging server does not delay the end of an interrupted proof.
            with pymongo.timeout(_DROP_S):
                drop(client, prefix)


def drop(client: Client, prefix: str) -> list[str]:
    """Drop the databases with the prefix; returns their names."""
    found = databases_with(client, prefix)
    for name in found:
        client.drop_database(name)
    return found
