"""Parses expressions with Python's own parser, so that both engines agree on their meaning.

The parser and the compiler are private modules of `re` that have not changed since Python 3.11;
the tests compare both engines on the Python release that runs them.
"""

import re
from re import _compiler, _parser  # type: ignore[attr-defined]
from typing import Any

Node = tuple[Any, Any]
"""An operation of the parser with its arguments."""

UNBOUNDED = int(_parser.MAXREPEAT)
_MAX_LENGTH = 65_536
_TYPES = re.ASCII | re.LOCALE | re.UNICODE


class ExpressionError(ValueError):
    """Not a regular expression, or not matchable in bounded time; names the part and the remedy."""


def compiled(text: str, flags: int) -> re.Pattern[str]:
    """As `re.compile`, but not in its cache: signals could fill that."""
    found: re.Pattern[str] = _compiler.compile(text, flags)
    return found


def parsed(text: str, flags: int) -> Any:
    """The tree of an expression. Raises ExpressionError."""
    if len(text) > _MAX_LENGTH:
        raise ExpressionError(f"{len(text)} characters; {_MAX_LENGTH} are allowed. Shorten it")
    try:
        # Compiling finds faults that the parser does not, as a look-behind without a fixed width.
        compiled(text, flags)
        return _parser.parse(text, flags)
    except re.error as error:
        raise ExpressionError(f"{text!r} is not a regular expression: {error}") from error
    except (RecursionError, OverflowError) as error:
        raise ExpressionError("too deeply nested or too large. Simplify it") from error


def scoped(flags: int, added: int, removed: int) -> int:
    """Flags inside of a group such as `(?i-s:…)`."""
    if added & _TYPES:
        flags &= ~_TYPES
    return (flags | added) & ~removed


def leaf(node: Node, flags: int) -> re.Pattern[str]:
    """One character or one position, by the rules of Python's engine. Never backtracks."""
    state = _parser.State()
    state.flags = flags
    state.str = ""
    found: re.Pattern[str] = _compiler.compile(_parser.SubPattern(state, [node]), flags)
    return found
