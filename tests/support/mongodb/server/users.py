"""Users, and what their roles and privileges let them do."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tests.support.mongodb.server.wire import Document

_ACTIONS = {
    "read": ("find", "changeStream", "listCollections", "listIndexes", "collStats"),
    "write": ("insert", "update", "remove", "createCollection", "createIndex", "collMod"),
    "monitor": (
        "serverStatus",
        "replSetGetStatus",
        "replSetGetConfig",
        "getParameter",
        "getCmdLineOpts",
    ),
    "list": ("listDatabases",),
    "admin": ("configureFailPoint", "enableSharding", "replSetStateChange", "killAnySession"),
    "users": ("createRole", "grantRole"),
}
"""What a right of a role is made of."""
_OF_A_DATABASE = {"read": ("read",), "readWrite": ("read", "write")}
_OF_ALL = {"readAnyDatabase": ("read",), "readWriteAnyDatabase": ("read", "write")}
# A resource that names no database does not mean these.
_APART = {"local", "config"}


@dataclass(frozen=True)
class Privilege:
    """Actions on a collection; an empty name stands for every one, `database` None for the cluster.
    A privilege on `everything` has no name at all."""

    actions: tuple[str, ...]
    database: str | None = ""
    collection: str = ""
    is_everything: bool = False

    def covers(self, action: str, database: str | None, collection: str) -> bool:
        if action not in self.actions:
            return False
        if self.is_everything:
            return True
        if self.database is None or database is None:
            return self.database == database
        is_database = self.database == database or (not self.database and database not in _APART)
        is_any = not self.collection and not collection.startswith("system.")
        return is_database and (is_any or self.collection == collection)

    def document(self) -> Document:
        """As `connectionStatus` shows it."""
        resource: Document = {"db": self.database, "collection": self.collection}
        if self.database is None:
            resource = {"cluster": True}
        if self.is_everything:
            resource = {"anyResource": True}
        return {"resource": resource, "actions": sorted(self.actions)}


def _of_role(role: str, place: str) -> Iterator[Privilege]:
    if role in _OF_A_DATABASE:
        yield Privilege(_actions(_OF_A_DATABASE[role]), place)
    elif role in _OF_ALL:
        yield Privilege(_actions(_OF_ALL[role]))
        yield Privilege(_ACTIONS["list"], None)
    elif role == "directShardOperations":
        yield Privilege(("issueDirectShardOperations",), None)
    elif role == "clusterMonitor":
        yield Privilege(_actions(("monitor", "list")), None)
    elif role == "root":
        yield Privilege(_actions(_ACTIONS), is_everything=True)
    else:
        raise ValueError(f"no role {role} here")


def _actions(rights: Iterable[str]) -> tuple[str, ...]:
    return tuple(action for right in rights for action in _ACTIONS[right])


@dataclass(frozen=True)
class User:
    """A user of the `admin` database. `roles` are pairs of role and database, `privileges` those of
    roles that commands made, `made_roles` the names of these roles."""

    name: str
    password: str
    roles: tuple[tuple[str, str], ...] = (("root", "admin"),)
    privileges: tuple[Privilege, ...] = ()
    made_roles: tuple[str, ...] = ()

    def all_privileges(self) -> Iterator[Privilege]:
        for role, place in self.roles:
            yield from _of_role(role, place)
        yield from self.privileges

    def may(self, right: str, database: str | None, collection: str = "") -> bool:
        """A right of a command (`find`, or several by one name, such as `write`) in a database, or
        of the cluster."""
        actions = _ACTIONS["write"] if right == "write" else (right,)
        return all(
            any(each.covers(action, database, collection) for each in self.all_privileges())
            for action in actions
        )
