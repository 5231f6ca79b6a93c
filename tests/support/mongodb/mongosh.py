"""Statements for mongosh, as messages print them, executed by the driver."""

import json
import re
from collections.abc import Iterator
from typing import Any

from tests.support.mongodb.server.client import Client

_STATEMENT = re.compile(r'db(?:\.getSiblingDB\(("(?:[^"\\]|\\.)*")\))?\.(\w+)\(')
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[()]|[^"()]+')
_BARE_KEY = re.compile(r"(?<=[{,])\s*(\w+):")


def statements_in(text: str) -> Iterator[tuple[str, str, list[Any]]]:
    """Database, method and arguments of each statement."""
    for found in _STATEMENT.finditer(text):
        database = json.loads(found[1]) if found[1] else "admin"
        yield database, found[2], _arguments(text[found.end() :])


def _arguments(text: str) -> list[Any]:
    """Up to the bracket that closes; the names of fields may have no quotes."""
    depth, shown = 1, ""
    for token in _TOKEN.findall(text):
        depth += {"(": 1, ")": -1}.get(token, 0)
        if depth == 0:
            return list(json.loads(f"[{shown}]"))
        shown += token if token.startswith('"') else _BARE_KEY.sub(r'"\1":', token)
    raise ValueError(f"no closing bracket: {text}")


def paste(client: Client, text: str) -> None:
    """Executes each statement of a text, which must have one."""
    statements = list(statements_in(text))
    assert statements, text
    for database, method, given in statements:
        client[database].command(_command(method, given))


def _command(method: str, given: list[Any]) -> dict[str, Any]:
    match method, given:
        case "runCommand" | "adminCommand", [document]:
            return dict(document)
        case "createRole", [role]:
            return {"createRole": role["role"], **{k: v for k, v in role.items() if k != "role"}}
        case "grantRolesToUser", [user, roles]:
            return {"grantRolesToUser": user, "roles": roles}
        case "grantPrivilegesToRole", [role, privileges]:
            return {"grantPrivilegesToRole": role, "privileges": privileges}
    raise ValueError(f"{method} with {len(given)} arguments is no statement that is known here")
