"""Topic naming strategies, as in Debezium: pure functions, one for each strategy.

They produce the same names as `debezium-connector-common` 3.6.1, including replaced characters.
"""

import re
import string
from collections.abc import Callable
from dataclasses import dataclass

from mongo_agent.encoder import LinearPattern
from mongo_agent.regular_expressions import Pattern, compile_pattern
from sidecar.properties.types import LONGEST_TOPIC

Naming = Callable[[str, str], str]
"""Maps a database and a collection to a topic."""

_ALLOWED = frozenset(string.ascii_letters + string.digits + "._-")
_UNESCAPED = _ALLOWED - {"_"}
_SHORT = 2
_TOPIC_LETTERS = re.compile(r"[A-Za-z0-9._-]*")
_PART = re.compile(r"\\(?P<literal>.)|\$\{(?P<name>\w+)\}|\$(?P<number>\d+)|(?P<wrong>[\\$])", re.S)


def default_topic(prefix: str, database: str, collection: str, delimiter: str = ".") -> str:
    """Build the topic of a collection. Characters outside the BMP become `__`, as in Java."""
    return _replace(delimiter.join((prefix, database, collection)), _ALLOWED, lambda _: "_")


def unicode_topic(prefix: str, database: str, collection: str, delimiter: str = ".") -> str:
    """Build the topic of a collection. As in Debezium, `00` precedes codes of one or two digits."""
    return _replace(delimiter.join((prefix, database, collection)), _UNESCAPED, _escape)


def _replace(text: str, allowed: frozenset[str], instead: Callable[[int], str]) -> str:
    """Replace each UTF-16 code unit that is not allowed, and truncate to the limit."""
    units = map(chr, memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H"))
    name = "".join(each if each in allowed else instead(ord(each)) for each in units)
    return name[:LONGEST_TOPIC]


def _escape(unit: int) -> str:
    digits = f"{unit:x}"
    return f"_u00{digits}" if len(digits) <= _SHORT else f"_u{digits}"


@dataclass(frozen=True)
class RegexNaming:
    """Replaces names that fully match `pattern` with `parts`: text and group numbers."""

    pattern: Pattern
    parts: tuple[str | int, ...]

    def name(self, plain: str) -> str:
        """Replace the name; return it unchanged without a match, or if the result is empty."""
        if not self.pattern.matches(plain):
            return plain
        return self.pattern.replace_first(plain, self.parts)[:LONGEST_TOPIC] or plain


def regex_naming(regex: str, text: str) -> RegexNaming:
    """Compile a regular expression and its replacement. Raises ValueError."""
    pattern = compile_pattern(regex)
    return RegexNaming(pattern, tuple(_parts(text, pattern.engine)))


def _parts(text: str, pattern: LinearPattern | re.Pattern[str]) -> list[str | int]:
    parts: list[str | int] = []
    end = 0
    for found in _PART.finditer(text):
        parts.append(text[end : found.start()])
        end = found.end()
        if found["wrong"]:
            raise ValueError(f"{text!r} has an incomplete {found['wrong']!r}")
        if found["literal"]:
            parts.append(found["literal"])
        elif found["name"]:
            if found["name"] not in pattern.groupindex:
                raise ValueError(f"{text!r} refers to the unknown group {found['name']!r}")
            parts.append(pattern.groupindex[found["name"]])
        else:
            group, rest = _group(found["number"], pattern.groups)
            parts += [group, rest]
    parts.append(text[end:])
    for part in parts:
        if isinstance(part, str) and not _TOPIC_LETTERS.fullmatch(part):
            raise ValueError(f"{text!r} contains characters that topics do not allow: {part!r}")
    return [part for part in parts if part != ""]


def _group(digits: str, groups: int) -> tuple[int, str]:
    """Split digits into the longest prefix that is an existing group, and text."""
    number, used = int(digits[0]), 1
    if number > groups:
        raise ValueError(f"the group {number} does not exist")
    while used < len(digits) and number * 10 + int(digits[used]) <= groups:
        number = number * 10 + int(digits[used])
        used += 1
    return number, digits[used:]
