"""Scopes of streams, and the databases and collections that the include and exclude lists select.

A pattern must match the whole name, `database` or `database.collection`: `db1` does not match
`db10`. Regular expressions ignore case, as in Debezium; literals are case-sensitive.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from mongo_agent.regular_expressions import Pattern, compile_pattern

BUILT_IN = frozenset({"admin", "config", "local"})
"""System databases, which the agent never captures."""
SYSTEM = "system."
"""Prefix of system collections."""
_TEMPORARY = re.compile(
    r"tmp\.(agg_out|mr)\.|tmp\w{5}\.(create|renameCollection|convertToCapped)\b"
)
"""Collections that the server fills for `$out`, mapReduce and other commands, and then renames."""
_NONE = r"[^\s\S]"
"""As an expression it matches no name; as a literal it is not a valid name."""
_CLOSING = {"{": "}", "[": "]", "(": ")"}


@dataclass(frozen=True, slots=True)
class Scope:
    """What a stream watches: a collection, a database, or by default the whole deployment."""

    database: str | None = None
    collection: str | None = None

    @property
    def stream_name(self) -> str:
        """The name of the scope's stream; empty for the whole deployment."""
        return ".".join(part for part in (self.database, self.collection) if part is not None)


MatchMode = Literal["regex", "literal"]


def split_patterns(text: str) -> tuple[str, ...]:
    """Split a comma-separated list of patterns.

    A comma inside brackets or after a backslash belongs to its pattern: `a{1,2}, b[,]` lists two.
    """
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


def is_servers_own(collection: str) -> bool:
    """Whether the server created a collection for its own use; the agent never captures it."""
    return collection.startswith(SYSTEM) or _TEMPORARY.match(collection) is not None


@dataclass(frozen=True)
class Namespaces:
    """The configured lists: an include or an exclude list, each for databases and for collections.

    Raises ValueError for an invalid regular expression, and if both lists of a kind are set.
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
                    f"`{what}.include.list` and `{what}.exclude.list` are mutually exclusive; "
                    "remove one of them"
                )
        # Compile now, so that an invalid expression fails here and not at the first comparison.
        _ = self._compiled

    def captures(self, database: str, collection: str) -> bool:
        if not self.captures_database(database) or is_servers_own(collection):
            return False
        name = f"{database}.{collection}"
        if self.include_collections:
            return self.first_match(self.include_collections, name) is not None
        return self.first_match(self.exclude_collections, name) is None

    def captures_database(self, database: str) -> bool:
        if database in BUILT_IN:
            return False
        if self.include_databases:
            return self.first_match(self.include_databases, database) is not None
        return self.first_match(self.exclude_databases, database) is None

    def within(self, database: str | None, collection: str | None) -> "Namespaces":
        """Narrow the lists to one database or one collection."""
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
        return name if self.mode == "literal" else f"(?-i:{re.escape(name)})"

    def first_match(self, patterns: tuple[str, ...], name: str) -> str | None:
        """Return the first of these listed patterns that matches a name."""
        return next((each for each in patterns if self._compiled[each].matches(name)), None)

    @cached_property
    def _compiled(self) -> Mapping[str, Pattern]:
        patterns = (
            *self.include_databases,
            *self.exclude_databases,
            *self.include_collections,
            *self.exclude_collections,
        )
        if self.mode == "literal":
            return {pattern: compile_pattern(re.escape(pattern)) for pattern in patterns}
        return {pattern: compile_pattern(pattern, ignores_case=True) for pattern in patterns}
