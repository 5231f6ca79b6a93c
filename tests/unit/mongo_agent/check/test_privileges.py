"""Missing privileges, computed from the answer to `connectionStatus`."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mongo_agent.capture.namespaces import Scope
from mongo_agent.check.privileges import (
    CLUSTER,
    RequiredPrivilege,
    Resource,
    grant_commands,
    missing_privileges,
    required_privileges,
)
from tests.support.mongodb.server import Privilege, User

ACTIONS = ("find", "changeStream", "listCollections", "listDatabases", "replSetGetConfig")
DATABASES = st.sampled_from(["", "shop", "local", "admin", "config"])
COLLECTIONS = st.sampled_from(["", "orders", "system.version", "oplog.rs"])

resources = st.one_of(st.just(CLUSTER), st.builds(Resource, DATABASES, COLLECTIONS))
privileges = st.builds(
    Privilege,
    st.lists(st.sampled_from(ACTIONS), unique=True).map(tuple),
    st.one_of(st.none(), DATABASES),
    COLLECTIONS,
    st.booleans(),
)


@given(resources, st.lists(st.sampled_from(ACTIONS), min_size=1).map(tuple), st.lists(privileges))
def test_missing_privileges_match_rejections_of_a_server(
    resource: Resource, actions: tuple[str, ...], granted: list[Privilege]
) -> None:
    user = User("u", "p", (), tuple(granted))
    need = RequiredPrivilege(actions, resource, "for the test")
    refused = tuple(
        action for action in actions if not user.may(action, resource.database, resource.collection)
    )
    found = missing_privileges([need], [each.document() for each in granted])
    assert [each.actions for each in found] == ([refused] if refused else [])


def lacking(user: User, scope: Scope, **deployment: bool) -> dict[str, bool]:
    """The missing privileges, each with whether it is mandatory."""
    facts = {"is_sharded": False, "is_shard": False, **deployment}
    wanted = required_privileges([scope], version=(8, 0, 0), **facts)
    granted = [each.document() for each in user.all_privileges()]
    return {str(each): each.need.is_required for each in missing_privileges(wanted, granted)}


USEFUL = {"`replSetGetConfig` on the cluster": False, "`find` on admin.system.version": False}


def test_documented_roles_are_sufficient() -> None:
    user = User("u", "p", (("readAnyDatabase", "admin"), ("read", "local")))
    assert lacking(user, Scope()) == USEFUL


def test_reader_of_one_database_watches_only_that_database() -> None:
    user = User("u", "p", (("read", "shop"),))
    missing_locally = {"`find` on local.oplog.rs": False, **USEFUL}
    assert lacking(user, Scope("shop")) == missing_locally
    assert lacking(user, Scope("shop", "orders")) == missing_locally
    assert lacking(user, Scope("crm")) == {
        "`changeStream` and `find` on the database crm": True,
        "`listCollections` on the database crm": True,
        **missing_locally,
    }
    assert lacking(user, Scope())["`changeStream` and `find` on all databases"]


def test_only_missing_action_is_reported() -> None:
    of_shop = Privilege(("find", "listCollections"), "shop")
    user = User("u", "p", (("read", "local"),), (of_shop,))
    assert "`changeStream` on shop.orders" in lacking(user, Scope("shop", "orders"))


def test_shard_requires_privilege_for_direct_operations() -> None:
    user = User("u", "p", (("readAnyDatabase", "admin"), ("read", "local")))
    assert lacking(user, Scope(), is_shard=True) == {
        "`issueDirectShardOperations` on the cluster": True,
        **USEFUL,
    }
    before = required_privileges([Scope()], version=(7, 0, 0), is_sharded=False, is_shard=True)
    assert not any("issueDirectShardOperations" in need.actions for need in before)


def test_mongos_requires_no_oplog_privilege() -> None:
    user = User("u", "p", (("readAnyDatabase", "admin"),))
    assert lacking(user, Scope(), is_sharded=True) == {"`find` on config.version": False}


@pytest.mark.parametrize("scope", [Scope(), Scope("shop"), Scope("shop", "orders")])
def test_suggested_commands_grant_all_missing_privileges(scope: Scope) -> None:
    wanted = list(required_privileges([scope], version=(8, 0, 0), is_sharded=False, is_shard=True))
    commands = grant_commands(missing_privileges(wanted, []), "cdc", "users")
    text = commands.partition("createRole(")[2]
    role, end = json.JSONDecoder().raw_decode(text)
    assert missing_privileges(wanted, role["privileges"]) == []
    assert 'db.getSiblingDB("users").grantRolesToUser("cdc", ' in text[end:]
