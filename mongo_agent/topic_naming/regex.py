"""DefaultRegexTopicNamingStrategy: a regular expression applied to the default name.

Expressions and replacements use Java's syntax: `(?<name>…)`, `$1`, `${name}`, `\\$`.
"""

import re
from dataclasses import dataclass

from commitlog import LinearPattern
from mongo_agent.regular_expressions import Pattern, compile_pattern
from sidecar.properties.topic_names import LONGEST_TOPIC

_TOPIC_LETTERS = re.compile(r"[A-Za-z0-9._-]*")
_PART = re.compile(r"\\(?P<literal>.)|\$\{(?P<name>\w+)\}|\$(?P<number>\d+)|(?P<wrong>[\\$])", re.S)


@dataclass(frozen=True)
class RegexNaming:
    """Replaces names that `pattern` matches as a whole by `parts`: text, and groups by number."""

    pattern: Pattern
    parts: tuple[str | int, ...]

    def name(self, plain: str) -> str:
        """The replaced name; the default name if the result is empty."""
        if not self.pattern.matches(plain):
            return plain
        return self.pattern.replace_first(plain, self.parts)[:LONGEST_TOPIC] or plain


def regex_naming(regex: str, text: str) -> RegexNaming:
    """Compile a naming. Raises ValueError."""
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
                raise ValueError(f"{text!r} names the unknown group {found['name']!r}")
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
    """The longest prefix of digits that is an existing group; the rest is text."""
    number, used = int(digits[0]), 1
    if number > groups:
        raise ValueError(f"the group {number} does not exist")
    while used < len(digits) and number * 10 + int(digits[used]) <= groups:
        number = number * 10 + int(digits[used])
        used += 1
    return number, digits[used:]
