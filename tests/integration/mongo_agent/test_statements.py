"""Executing the mongosh statement of a finding resolves it."""

import json
from collections.abc import Mapping
from pathlib import Path

from tests.support.mongodb.agent_command import ROOT, configuration, mongo_agent
from tests.support.mongodb.mongosh import paste
from tests.support.mongodb.server import MongoReplicaSet, Privilege, User
from tests.support.mongodb.server.client import Client

FINDER = User(
    'o"f (all)', "open", (("read", "local"),), (Privilege(("find", "listCollections"), "s(hop"),)
)
NO_COPY = {"snapshot.mode": "no_data", "oplog.headroom.warning.ms": "0"}


def remedies(
    folder: Path, servers: MongoReplicaSet, user: User | None, changes: Mapping[str, str]
) -> dict[str, str]:
    """Remedies of all findings of `check` that are not ok, by code."""
    hosts = f"rs0/{servers.members[0]}"
    path = configuration(folder, hosts, user, {**NO_COPY, **changes})
    findings = json.loads(mongo_agent("check", "--json", "--config", path).output)["findings"]
    return {each["code"]: each["remedy"] for each in findings if each["level"] != "ok"}


def test_grant_statements_resolve_missing_privileges(tmp_path: Path) -> None:
    """First for a collection, then for wider scopes."""
    database, collection = "s(hop", 'or(d"er'
    scopes = {"collection": f"{database}.{collection}", "database": database, "deployment": None}
    with (
        MongoReplicaSet(users=[ROOT, FINDER]) as servers,
        Client(servers.connection_string, username=ROOT.name, password=ROOT.password) as root,
    ):
        root[database][collection].insert_one({"_id": 1})
        for scope, target in scopes.items():
            changes = {"capture.scope": scope, **({"capture.target": target} if target else {})}
            found = remedies(tmp_path, servers, FINDER, changes)
            paste(root, found["privilege_missing"])
            assert remedies(tmp_path, servers, FINDER, changes) == {}


def test_pre_image_statement_resolves_its_finding(tmp_path: Path) -> None:
    with_images = {"capture.mode": "change_streams_with_pre_image"}
    with MongoReplicaSet() as servers, Client(servers.connection_string) as client:
        client["s(hop"]['or(d"er'].insert_one({"_id": 1})
        found = remedies(tmp_path, servers, None, with_images)
        paste(client, found["pre_images_disabled"])
        assert remedies(tmp_path, servers, None, with_images) == {}


def test_change_stream_statement_resolves_its_finding(tmp_path: Path) -> None:
    with (
        MongoReplicaSet(version="5.0.0", is_documentdb=True) as servers,
        Client(servers.connection_string) as client,
    ):
        client.shop.orders.insert_one({"_id": 1})
        found = remedies(tmp_path, servers, None, {})
        paste(client, found["change_streams_disabled"])
        assert "change_streams_disabled" not in remedies(tmp_path, servers, None, {})
