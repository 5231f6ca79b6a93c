"""The members of the replica set: their roles, and how each tells them in `hello`."""

import random
import socket
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from bson import Int64, ObjectId, Timestamp

from tests.support.mongodb.server.change_streams import ChangeStream
from tests.support.mongodb.server.errors import CommandError
from tests.support.mongodb.server.faults import FailCommand, FailWrite
from tests.support.mongodb.server.releases import DEFAULT, Release
from tests.support.mongodb.server.scram import Conversation
from tests.support.mongodb.server.users import User
from tests.support.mongodb.server.wire import MAX_DOCUMENT_BYTES, MAX_MESSAGE_BYTES, Document

_MAX_BATCH_COUNT = 100_000


@dataclass
class Cursor:
    """An open cursor: a change stream, or documents that were found and wait to be fetched."""

    namespace: str
    stream: ChangeStream | None = None
    documents: list[Document] = field(default_factory=list)
    at_cluster_time: Any = None
    has_known_end: bool = False


@dataclass(eq=False)
class Connection:
    """One client's connection to a member."""

    socket: socket.socket
    number: int
    application: str | None = None
    user: User | None = None
    conversation: Conversation | None = None
    is_closed: bool = False

    def close(self) -> None:
        """Wake whoever reads from it; its thread closes the socket."""
        self.is_closed = True
        try:
            # Under TLS too it is the socket below that ends; its own end would wait for the client.
            socket.socket.shutdown(self.socket, socket.SHUT_RDWR)
        except OSError:
            # The client was faster.
            return


@dataclass(eq=False)
class Member:
    """One server. `epoch` grows when operations in progress are interrupted."""

    name: str
    is_arbiter: bool = False
    is_hidden: bool = False
    tags: Document = field(default_factory=dict)
    process_id: ObjectId = field(default_factory=ObjectId)
    version: int = 0
    is_up: bool = False
    epoch: int = 0
    # The last entry that it has, where it does not follow the others.
    stands_at: Timestamp | None = None
    fail_point: FailCommand | None = None
    write_fail_point: FailWrite | None = None
    cursors: dict[int, Cursor] = field(default_factory=dict)
    connections: set[Connection] = field(default_factory=set)

    @property
    def is_shown(self) -> bool:
        """Among the `hosts` that clients are told of."""
        return not (self.is_arbiter or self.is_hidden)

    def topology_version(self) -> Document:
        return {"processId": self.process_id, "counter": Int64(self.version)}

    def keep(self, cursor: Cursor) -> Int64:
        """The id under which a client fetches more."""
        number = Int64(random.getrandbits(62) | 1)
        self.cursors[number] = cursor
        return number

    def drop_connections(self) -> None:
        for connection in self.connections:
            connection.close()


@dataclass
class Topology:
    """Who is primary. Without a primary the set takes no writes. One that is not initiated has no
    primary and waits for `replSetInitiate`."""

    set_name: str
    members: list[Member]
    is_standalone: bool = False
    is_initiated: bool = True
    is_config_server: bool = False
    release: Release = DEFAULT
    primary: Member | None = None
    term: int = 0
    set_version: int = 1

    def electable(self) -> list[Member]:
        """Members that run and can become primary."""
        return [each for each in self.members if each.is_up and each.is_shown]

    def elect(self, primary: Member | None) -> None:
        """Make a member primary, or none; every member reports a new topology version."""
        if primary is not None:
            self.term += 1
        self.primary = primary
        for member in self.members:
            member.version += 1

    def hello(self, member: Member, connection: Connection, last_write: Document) -> Document:
        is_primary = member is self.primary
        body: Document = {
            "helloOk": True,
            "isWritablePrimary": is_primary,
            "ismaster": is_primary,
            "secondary": not (is_primary or member.is_arbiter),
            "topologyVersion": member.topology_version(),
            "hosts": [each.name for each in self.members if each.is_shown],
            "setName": self.set_name,
            "setVersion": self.set_version,
            "me": member.name,
            "lastWrite": last_write,
            "maxBsonObjectSize": MAX_DOCUMENT_BYTES,
            "maxMessageSizeBytes": MAX_MESSAGE_BYTES,
            "maxWriteBatchSize": _MAX_BATCH_COUNT,
            "localTime": datetime.now(UTC).replace(tzinfo=None),
            "logicalSessionTimeoutMinutes": 30,
            "connectionId": connection.number,
            "minWireVersion": 0,
            "maxWireVersion": self.release.wire_version,
            "readOnly": False,
        }
        of_a_set = ("secondary", "hosts", "setName", "setVersion", "me", "lastWrite")
        if self.is_standalone:
            return {name: value for name, value in body.items() if name not in of_a_set}
        if not self.is_initiated:
            waiting = {name: value for name, value in body.items() if name not in of_a_set}
            info = "Does not have a valid replica set config"
            return {**waiting, "secondary": False, "isreplicaset": True, "info": info}
        if arbiters := [each.name for each in self.members if each.is_arbiter]:
            body["arbiters"] = arbiters
        if member.is_arbiter:
            body["arbiterOnly"] = True
        if member.is_hidden:
            body["hidden"] = True
        if member.tags:
            body["tags"] = member.tags
        if self.is_config_server:
            body["configsvr"] = 2
        if self.primary is not None:
            body["primary"] = self.primary.name
        if is_primary:
            # As the server's: the term in the low bytes, so that a later election compares greater.
            body["electionId"] = ObjectId(f"7fffffff{self.term:016x}")
        return body

    def status(self, last_write: Document) -> Document:
        """`replSetGetStatus`, as far as it tells of roles and times."""
        states = {
            id(member): (1, "PRIMARY")
            if member is self.primary
            else (2, "SECONDARY")
            if member.is_up
            else (8, "(not reachable/healthy)")
            for member in self.members
        }
        return {
            "set": self.set_name,
            "term": Int64(self.term),
            "optimes": {
                "lastCommittedOpTime": last_write["majorityOpTime"],
                "appliedOpTime": last_write["opTime"],
            },
            "members": [
                {
                    "_id": number,
                    "name": member.name,
                    "health": float(member.is_up),
                    "state": states[id(member)][0],
                    "stateStr": states[id(member)][1],
                }
                for number, member in enumerate(self.members)
            ],
        }


@dataclass
class RouterTopology(Topology):
    """A router by itself, which says that it is one."""

    def hello(self, member: Member, connection: Connection, last_write: Document) -> Document:
        body = super().hello(member, connection, last_write)
        body |= {"isWritablePrimary": True, "ismaster": True}
        of_a_set = ("secondary", "hosts", "setName", "setVersion", "me", "lastWrite", "primary")
        shown = {name: value for name, value in body.items() if name not in of_a_set}
        shown.pop("electionId", None)
        return {**shown, "msg": "isdbgrid"}

    def status(self, last_write: Document) -> Document:
        raise CommandError(59, "replSetGetStatus is not supported through mongos")
