"""Detects whether Cassandra 5.0's dynamic data masking replaces values in a `SELECT`.

A masked value keeps the write time of the real value, so a page does not reveal the masking. Agent
snapshots and `spark_jobs.compare` therefore query the rights before and after each page.
"""

import math
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]
Ask = Callable[[str], Sequence[Row]]
"""Runs a statement and returns all its rows. Raises whatever the caller's driver raises."""

_EVERYTHING = "<all keyspaces>"
_ALL = ("ALL", "ALL PERMISSIONS")
_PLAIN = re.compile(r"[a-z][a-z0-9_]*")
_HAS_MASKS = (
    "SELECT table_name FROM system_schema.tables "
    "WHERE keyspace_name = 'system_schema' AND table_name = 'column_masks'"
)
_MASKS = "SELECT keyspace_name, table_name, column_name FROM system_schema.column_masks"
_VALIDITY = "SELECT value FROM system_views.settings WHERE name = 'permissions_validity'"
_UNITS_S = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
_DEFAULT_VALIDITY_S = 2.0
_RECENT_S = 1.0
_NO_AUTHORIZATION = re.compile("AllowAll|is not supported by|not anonymous", re.IGNORECASE)
_NO_AUTHORIZATION_S = 60.0


@dataclass(frozen=True, slots=True)
class Rights:
    """The rights of a role, including rights inherited from granted roles."""

    is_superuser: bool = False
    readable: frozenset[str] = frozenset()
    """Resources on which the role has SELECT, in the node's notation: `<table shop.orders>`,
    `<keyspace shop>`, `<all keyspaces>`."""
    unmasked: frozenset[str] = frozenset()
    """Resources on which the role has UNMASK."""

    def can_read(self, table: str) -> bool:
        """Returns whether the role can read a table (`keyspace.table`)."""
        return self.is_superuser or bool(self.readable & _resources(table))

    def can_unmask(self, table: str) -> bool:
        """Returns whether the role sees real values in masked columns of a `keyspace.table`."""
        return self.is_superuser or bool(self.unmasked & _resources(table))


def rights_of(roles: Iterable[Row], permissions: Iterable[Row]) -> Rights:
    """Extracts the rights from the rows of `LIST ROLES` and `LIST ALL PERMISSIONS`."""
    granted = [(row.get("permission"), str(row.get("resource"))) for row in permissions]

    def with_right(name: str) -> frozenset[str]:
        return frozenset(place for right, place in granted if right in (name, *_ALL))

    is_superuser = any(row.get("super") for row in roles)
    return Rights(is_superuser, with_right("SELECT"), with_right("UNMASK"))


def read_rights(ask: Ask, role: str | None) -> Rights | None:
    """Queries the rights of a role, or returns None if the node does not use authorization.

    For a login by certificate, `role` is None, and the rights cover every role that the login may
    list. Propagates exceptions of `ask`.
    """
    try:
        of_role = "" if role is None else f" OF {quoted(role)}"
        roles = ask(f"LIST ROLES{of_role}")
        names = [str(row["role"]) for row in roles] if role is None else [role]
        granted = [row for name in names for row in ask(f"LIST ALL PERMISSIONS OF {quoted(name)}")]
    except Exception as error:
        if _NO_AUTHORIZATION.search(str(error)):
            return None
        raise
    return rights_of(roles, granted)


def masked_columns(ask: Ask) -> dict[str, tuple[str, ...]]:
    """Queries the masked columns of each `keyspace.table`. Propagates exceptions of `ask`."""
    if not ask(_HAS_MASKS):
        return {}
    found: dict[str, tuple[str, ...]] = {}
    for row in ask(_MASKS):
        table = f"{row['keyspace_name']}.{row['table_name']}"
        found[table] = (*found.get(table, ()), str(row["column_name"]))
    return found


def mask_problem(
    table: str, columns: Sequence[str], rights: Rights | None, role: str | None
) -> str:
    """Explains why a `SELECT` returns masks instead of values; empty if it returns values."""
    if not columns or rights is None or rights.can_unmask(table):
        return ""
    keyspace, _, name = table.partition(".")
    place = f"{cql_identifier(keyspace)}.{cql_identifier(name)}"
    who = "ROLE" if role is None else quoted(role)
    return (
        f"{table} has masked columns ({', '.join(sorted(columns))}), and the role {who} may not "
        "UNMASK them, so a SELECT returns masks instead of values. As a superuser: "
        f"GRANT UNMASK ON {place} TO {who};"
    )


class MaskGuard:
    """Verifies that pages contain real values instead of masks. Not thread-safe.

    A page is valid if the role could see real values both before and after the read. A node caches
    the rights of a role for `permissions_validity`. Before a masked table is read, the guard waits
    that long and checks again, unless it verified the rights within the last second.
    """

    def __init__(
        self,
        ask: Ask,
        role: str | None,
        *,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._ask = ask
        self._role = role
        self._clock = clock
        self._pause = pause
        self._verified_s: dict[str, float] = {}
        """When the rights to each masked table were last verified."""
        self._no_authorization_until_s = -math.inf
        """A node without authorization rejects `LIST`, which can close the connection."""

    def before(self, table: str) -> str:
        """Explains why a table must not be read; empty if it may. Propagates errors of `ask`."""
        columns, problem = self._problem(table)
        if columns and not problem:
            if self._clock() - self._verified_s.get(table, -math.inf) > _RECENT_S:
                self._pause(validity_s(self._ask))
                columns, problem = self._problem(table)
            if columns and not problem:
                self._verified_s[table] = self._clock()
        return problem

    def after(self, table: str) -> str:
        """Explains why the page just read must not be used; empty if it may be used."""
        columns, problem = self._problem(table)
        if columns and not problem:
            if table not in self._verified_s:
                return f"Columns of {table} were masked while it was being read."
            self._verified_s[table] = self._clock()
        return problem

    def _problem(self, table: str) -> tuple[Sequence[str], str]:
        columns = masked_columns(self._ask).get(table, ())
        if columns and self._clock() < self._no_authorization_until_s:
            return (), ""
        rights = read_rights(self._ask, self._role) if columns else None
        if columns and rights is None:
            self._no_authorization_until_s = self._clock() + _NO_AUTHORIZATION_S
            return (), ""
        problem = mask_problem(table, columns, rights, self._role)
        if problem or not columns:
            self._verified_s.pop(table, None)
        return columns, problem


def validity_s(ask: Ask) -> float:
    """Queries how long a node may use outdated rights of a role."""
    try:
        (row,) = ask(_VALIDITY)
    except Exception:
        # The role may not be allowed to read settings.
        return _DEFAULT_VALIDITY_S
    found = re.fullmatch(r"(\d+)([a-z]+)", str(row["value"]))
    if found is None or found[2] not in _UNITS_S:
        return _DEFAULT_VALIDITY_S
    return int(found[1]) * _UNITS_S[found[2]]


def quoted(role: str) -> str:
    escaped = role.replace('"', '""')
    return f'"{escaped}"'


def cql_identifier(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else quoted(name)


def _resources(table: str) -> frozenset[str]:
    keyspace = table.partition(".")[0]
    return frozenset(
        (f"<table {table}>", f"<keyspace {keyspace}>", f"<all tables in {keyspace}>", _EVERYTHING)
    )
