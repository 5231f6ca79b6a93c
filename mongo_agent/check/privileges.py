"""Required and missing privileges of the agent's user."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mongo_agent.capture.namespaces import Scope
from mongo_agent.server.releases import DIRECT_SHARD_CHECK, Version

_APART = frozenset({"local", "config"})
_SYSTEM = "system."


@dataclass(frozen=True, slots=True)
class Resource:
    """A collection; an empty name means all. If `database` is None, the cluster."""

    database: str | None
    collection: str = ""

    def document(self) -> dict[str, object]:
        if self.database is None:
            return {"cluster": True}
        return {"db": self.database, "collection": self.collection}

    def __str__(self) -> str:
        if self.database is None:
            return "the cluster"
        if not self.database:
            return "all databases"
        if not self.collection:
            return f"the database {self.database}"
        return f"{self.database}.{self.collection}"


CLUSTER = Resource(None)


@dataclass(frozen=True, slots=True)
class RequiredPrivilege:
    """`actions` on a resource for a `purpose`; without optional actions the agent reports less."""

    actions: tuple[str, ...]
    resource: Resource
    purpose: str
    is_required: bool = True


@dataclass(frozen=True, slots=True)
class MissingPrivilege:
    """The actions in `need` that the user lacks."""

    need: RequiredPrivilege
    actions: tuple[str, ...]

    def __str__(self) -> str:
        return f"{' and '.join(f'`{action}`' for action in self.actions)} on {self.need.resource}"


def required_privileges(
    scopes: Sequence[Scope], *, version: Version, is_sharded: bool, is_shard: bool
) -> Iterator[RequiredPrivilege]:
    """List the privileges that these streams need on a server of this version."""
    for scope in scopes:
        resource = Resource(scope.database or "", scope.collection or "")
        yield RequiredPrivilege(
            ("changeStream", "find"), resource, "to read the change stream and to snapshot"
        )
    for database in dict.fromkeys(scope.database or "" for scope in scopes):
        yield RequiredPrivilege(
            ("listCollections",), Resource(database), "to list the collections to snapshot"
        )
    if any(scope.database is None for scope in scopes):
        yield RequiredPrivilege(
            ("listDatabases",), CLUSTER, "to list all databases", is_required=False
        )
    if is_shard and version >= DIRECT_SHARD_CHECK:
        yield RequiredPrivilege(
            ("issueDirectShardOperations",), CLUSTER, "to read from a shard without a mongos"
        )
    if is_sharded:
        of_version = Resource("config", "version")
        yield RequiredPrivilege(("find",), of_version, "to identify the cluster", is_required=False)
        return
    oplog = Resource("local", "oplog.rs")
    yield RequiredPrivilege(
        ("find",), oplog, "to measure how far back the oplog reaches", is_required=False
    )
    purpose = "to identify the replica set beyond its name"
    yield RequiredPrivilege(("replSetGetConfig",), CLUSTER, purpose, is_required=False)
    identity = Resource("admin", "system.version")
    yield RequiredPrivilege(("find",), identity, "to detect that it is a shard", is_required=False)


def missing_privileges(
    wanted: Iterable[RequiredPrivilege], granted: Iterable[Mapping[str, Any]]
) -> list[MissingPrivilege]:
    """Compare with `granted`, the `authenticatedUserPrivileges` of `connectionStatus`."""
    privileges = list(granted)
    found = []
    for need in wanted:
        lacking = tuple(
            action
            for action in need.actions
            if not any(_covers(each, action, need.resource) for each in privileges)
        )
        if lacking:
            found.append(MissingPrivilege(need, lacking))
    return found


def _covers(privilege: Mapping[str, Any], action: str, resource: Resource) -> bool:
    """Whether a privilege covers an action, as the server decides (`AuthorizationSession`).

    A resource without a database excludes `local` and `config`; a resource without a collection
    excludes system collections.
    """
    if action not in privilege.get("actions", ()):
        return False
    of = privilege.get("resource", {})
    if of.get("anyResource"):
        return True
    if resource.database is None or "db" not in of:
        return resource.database is None and bool(of.get("cluster"))
    is_database = of["db"] == resource.database or (
        of["db"] == "" and resource.database not in _APART
    )
    is_collection = of.get("collection", "") == resource.collection or (
        of.get("collection", "") == "" and not resource.collection.startswith(_SYSTEM)
    )
    return is_database and is_collection


def grant_commands(
    lacking: Sequence[MissingPrivilege],
    user: str,
    database: str,
    roles: Sequence[Mapping[str, Any]] = (),
) -> str:
    """Build mongosh commands that grant the privileges to a role for this user only.

    `database` defines `user`; `roles` are the `authenticatedUserRoles` of `connectionStatus`.
    """
    actions: dict[Resource, list[str]] = {}
    for each in lacking:
        actions.setdefault(each.need.resource, []).extend(each.actions)
    privileges = [
        {"resource": resource.document(), "actions": sorted(set(wanted))}
        for resource, wanted in actions.items()
    ]
    name = f"mongoAgent-{user}"
    if {"role": name, "db": "admin"} in roles:
        return (
            'In mongosh: db.getSiblingDB("admin").grantPrivilegesToRole('
            f"{json.dumps(name)}, {json.dumps(privileges)})"
        )
    role = {"role": name, "privileges": privileges, "roles": []}
    grant = [{"role": name, "db": "admin"}]
    return (
        f'In mongosh: db.getSiblingDB("admin").createRole({json.dumps(role)}); '
        f"db.getSiblingDB({json.dumps(database)}).grantRolesToUser({json.dumps(user)}, "
        f"{json.dumps(grant)})"
    )
