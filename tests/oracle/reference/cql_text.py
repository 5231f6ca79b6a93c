"""CQL as tokens."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

TOKEN = re.compile(
    r"""
      (?P<space>   \s+ | --[^\n]* | //[^\n]* | /\*.*?\*/ )
    | (?P<string>  '(?:[^']|'')*' | \$\$.*?\$\$ )
    | (?P<quoted>  "(?:[^"]|"")+" )
    | (?P<uuid>    [0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12} )
    | (?P<number>  [0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\b )
    | (?P<word>    \w+ )
    | (?P<sign>    . )
    """,
    re.VERBOSE | re.DOTALL,
)


class SchemaTextError(ValueError):
    """The schema text cannot be read; `line` counts from 1, 0 where no line is to blame."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(f"schema, line {line}: {what}" if line else f"schema: {what}")
        self.line = line
        self.what = what


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of CQL: its kind by the groups of TOKEN, its text without quotes, its line."""

    kind: str
    text: str
    line: int

    def upper(self) -> str:
        """The text as a keyword; empty for what is quoted and can be none."""
        return "" if self.kind in ("quoted", "string") else self.text.upper()

    def name(self) -> str:
        """The text as an identifier: lower case unless quoted."""
        if self.kind not in ("word", "quoted"):
            raise SchemaTextError(self.line, f"a name is expected instead of {self.text!r}")
        return self.text if self.kind == "quoted" else self.text.lower()


def statements(text: str) -> Iterator[list[Token]]:
    """The statements of `text`, each without its semicolon."""
    statement: list[Token] = []
    line = 1
    for match in TOKEN.finditer(text):
        kind, raw = str(match.lastgroup), match[0]
        if kind == "sign" and raw == ";":
            if statement:
                yield statement
            statement = []
        elif kind != "space":
            statement.append(Token(kind, _unquoted(kind, raw), line))
        line += raw.count("\n")
    if statement:
        yield statement


def _unquoted(kind: str, raw: str) -> str:
    if kind == "quoted":
        return raw[1:-1].replace('""', '"')
    if kind == "string":
        return raw[2:-2] if raw.startswith("$$") else raw[1:-1].replace("''", "'")
    return raw


class Tokens:
    """A statement that is read from left to right."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0

    @property
    def consumed(self) -> bool:
        """Whether anything is read already."""
        return self._at > 0

    def at_end(self) -> bool:
        """Whether nothing is left."""
        return self._at == len(self._tokens)

    def at(self, keyword: str) -> bool:
        """Whether `keyword` or sign comes next."""
        return not self.at_end() and self._tokens[self._at].upper() == keyword

    def next(self) -> Token:
        """The next token."""
        if self.at_end():
            raise self.error("statement is cut short")
        self._at += 1
        return self._tokens[self._at - 1]

    def name(self) -> str:
        """The next token as an identifier."""
        return self.next().name()

    def qualified_name(self, default_keyspace: str | None = None) -> tuple[str, str]:
        """A keyspace and a name within it."""
        first = self.name()
        if self.accept("."):
            return first, self.name()
        if default_keyspace is None:
            raise self.error(f"{first!r} needs its keyspace before it")
        return default_keyspace, first

    def accept(self, *keywords: str) -> bool:
        """Reads `keywords` if they come next, all of them or none."""
        found = [t.upper() for t in self._tokens[self._at : self._at + len(keywords)]]
        if found != list(keywords):
            return False
        self._at += len(keywords)
        return True

    def expect(self, keyword: str) -> None:
        """Reads `keyword` or sign, which must come next."""
        if not self.accept(keyword):
            found = "the end" if self.at_end() else repr(self._tokens[self._at].text)
            raise self.error(f"{keyword} is expected instead of {found}")

    def expect_end(self) -> None:
        """Nothing may be left."""
        if not self.at_end():
            raise self.error(f"{self._tokens[self._at].text!r} is not expected")

    def skip_to(self, *keywords: str) -> None:
        """Reads up to and including the next `keywords`."""
        while not self.accept(*keywords):
            self.next()

    def error(self, what: str) -> SchemaTextError:
        """An error at the line of the last token that was read."""
        return SchemaTextError(self._tokens[max(self._at - 1, 0)].line, what)
