"""Roles that commands make; later connections of their users have them."""

from collections.abc import Sequence
from dataclasses import replace

from tests.support.mongodb.server.commands.command import Command
from tests.support.mongodb.server.context import Context
from tests.support.mongodb.server.errors import CommandError
from tests.support.mongodb.server.users import Privilege
from tests.support.mongodb.server.wire import Document


def _privileges(context: Context) -> tuple[Privilege, ...]:
    return tuple(
        Privilege(tuple(each["actions"]), each["resource"]["db"], each["resource"]["collection"])
        if "db" in each["resource"]
        else Privilege(tuple(each["actions"]), None)
        for each in context.body["privileges"]
    )


def _create_role(context: Context) -> Document:
    name, roles = context.body["createRole"], context.deployment.roles
    if name in roles:
        raise CommandError(51002, f'Role "{name}@{context.database}" already exists')
    roles[name] = _privileges(context)
    return {}


def _grant_privileges(context: Context) -> Document:
    name, deployment = context.body["grantPrivilegesToRole"], context.deployment
    _known(context, [name])
    deployment.roles[name] += _privileges(context)
    deployment.users = tuple(
        replace(each, privileges=each.privileges + _privileges(context))
        if name in each.made_roles
        else each
        for each in deployment.users
    )
    return {}


def _grant_roles(context: Context) -> Document:
    name, deployment = context.body["grantRolesToUser"], context.deployment
    if all(each.name != name for each in deployment.users):
        raise CommandError(11, f"Could not find user {name}@{context.database}")
    names = tuple(each["role"] for each in context.body["roles"])
    _known(context, names)
    more = tuple(each for role in names for each in deployment.roles[role])
    deployment.users = tuple(
        replace(each, privileges=each.privileges + more, made_roles=each.made_roles + names)
        if each.name == name
        else each
        for each in deployment.users
    )
    return {}


def _known(context: Context, names: Sequence[str]) -> None:
    for name in names:
        if name not in context.deployment.roles:
            raise CommandError(31, f"Could not find role: {name}@{context.database}")


COMMANDS = {
    "createRole": Command(_create_role, "createRole", is_write=True),
    "grantPrivilegesToRole": Command(_grant_privileges, "grantRole", is_write=True),
    "grantRolesToUser": Command(_grant_roles, "grantRole", is_write=True),
}
