"""Which databases and collections are captured, by the lists of the configuration.

A pattern is compared with the whole name, `database` or `database.collection`: `db1` does not take
`db10`. Regular expressions do not care about case, as in Debezium; literals do.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from sidecar.regular_expressions import BoundedPattern, compile_bounded

MatchMode = Literal["regex", "literal"]
BUILT_IN = frozenset({"admin", "config", "local"})
"""Databases that are the server's own. They are never captured."""
SYSTEM = "system."
"""Collections that begin so are the server's own."""

_NONE = "(?!)"
"""An expression that no name matches, and no name."""
_CLOSING = {"{": "}", "[": "]", "(": ")"}


def split_patterns(text: str) -> tuple[str, ...]:
    """The patterns of a property, which commas separate. A comma inside of brackets or behind a
    backslash belongs to the pattern: `a{1,2}, b[,]` are two."""
    return tuple(part for each in _parts(text) if (part := each.strip()))


def _parts(text: str) -> Iterator[str]:
    part: list[str] = []
    closing: list[str] = []
    is_escaped = False
    for character in text:
        if is_escaped or character == "\\":
            is_escaped = not is_escaped
        elif closing and character == closing[-1]:
            closing.pop()
        elif character in _CLOSING and not (closing and closing[-1] == "]"):
            closing.append(_CLOSING[character])
        elif character == "," and not closing:
            yield "".join(part)
            part = []
            continue
        part.append(character)
    yield "".join(part)


@dataclass(frozen=True)
class Namespaces:
    """The lists as they are configured; of including and excluding at most one is given each.

    Raises ValueError for a pattern that is no regular expression or cannot be matched in bounded
    time, and for lists that exclude each other.
    """

    include_databases: tuple[str, ...] = ()
    exclude_databases: tuple[str, ...] = ()
    include_collections: tuple[str, ...] = ()
    exclude_collections: tuple[str, ...] = ()
    mode: MatchMode = "regex"

    def __post_init__(self) -> None:
        for what in ("database", "collection"):
            if getattr(self, f"include_{what}s") and getattr(self, f"exclude_{what}s"):
                raise ValueError(
                    f"`{what}.include.list` and `{what}.exclude.list` exclude each other: "
                    "keep one of them"
                )
        for pattern in self._patterns():
            self._compiled(pattern)

    def captures(self, database: str, collection: str) -> bool:
        """Whether documents of this collection are captured."""
        if not self.captures_database(database) or collection.startswith(SYSTEM):
            return False
        name = f"{database}.{collection}"
        if self.include_collections:
            return self._matches(self._include_collections, name)
        return not self._matches(self._exclude_collections, name)

    def captures_database(self, database: str) -> bool:
        """Whether there may be collections in it that are captured."""
        if database in BUILT_IN:
            return False
        if self.include_databases:
            return self._matches(self._include_databases, database)
        return not self._matches(self._exclude_databases, database)

    def within(self, database: str | None, collection: str | None) -> "Namespaces":
        """What of it is in a database, or is a collection of it."""
        if database is None:
            return self
        databases = (self._exactly(database),) if self.captures_database(database) else (_NONE,)
        narrow = replace(self, include_databases=databases, exclude_databases=())
        if collection is None:
            return narrow
        is_captured = self.captures(database, collection)
        collections = (self._exactly(f"{database}.{collection}"),) if is_captured else (_NONE,)
        return replace(narrow, include_collections=collections, exclude_collections=())

    def _exactly(self, name: str) -> str:
        """A pattern of one name."""
        return name if self.mode == "literal" else f"(?-i:{re.escape(name)})"

    def _patterns(self) -> tuple[str, ...]:
        return (
            *self.include_databases,
            *self.exclude_databases,
            *self.include_collections,
            *self.exclude_collections,
        )

    def _compiled(self, pattern: str) -> BoundedPattern:
        if self.mode == "literal":
            return compile_bounded(re.escape(pattern))
        return compile_bounded(pattern, re.IGNORECASE)

    @staticmethod
    def _matches(patterns: tuple[BoundedPattern, ...], name: str) -> bool:
        return any(pattern.matches(name) for pattern in patterns)

    @cached_property
    def _include_databases(self) -> tuple[BoundedPattern, ...]:
        return tuple(map(self._compiled, self.include_databases))

    @cached_property
    def _exclude_databases(self) -> tuple[BoundedPattern, ...]:
        return tuple(map(self._compiled, self.exclude_databases))

    @cached_property
    def _include_collections(self) -> tuple[BoundedPattern, ...]:
        return tuple(map(self._compiled, self.include_collections))

    @cached_property
    def _exclude_collections(self) -> tuple[BoundedPattern, ...]:
        return tuple(map(self._compiled, self.exclude_collections))
