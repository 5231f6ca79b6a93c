"""Regular expressions from the configuration or a signal.

Rust's `regex` crate matches them in linear time. It supports no look-around or back references,
which Debezium allows; Python's backtracking `re` matches patterns that need them.
"""

import re
from dataclasses import dataclass

from mongo_agent.encoder import LinearPattern

_MAX_LENGTH = 65_536
_NAMED_GROUP = re.compile(r"\(\?<(?![=!])")
# Syntax that the crate interprets differently from Python and Java: `\<`, `\b{`, set operators
# other than `&&`, the flags R, U and x, repeated and possessive quantifiers, spaces in a
# quantifier. The unnamed alternatives skip other escapes and sets.
_DIFFERENT = re.compile(
    r"(?P<escape>\\[<>]|\\b\{)|\\[pPux]\{[^}]*+\}?|\\."
    r"|(?P<operator>\[\^?\]?(?:\\.|(?!--|~~)[^\]\\])*+(?:--|~~))|\[\^?\]?(?:\\.|[^\]\\])*+"
    r"|(?P<flag>\(\?[a-wyz-]*+[RUx])"
    r"|(?P<repeated>[*+?}]\??+[*+?{])"
    r"|(?P<space>\{[\d,]*+\s)",
    re.DOTALL,
)


class ExpressionError(ValueError):
    """A regular expression that is invalid or too large; the message describes the problem."""


@dataclass(frozen=True)
class Pattern:
    """A compiled expression. `unbounded`: why the linear engine cannot match it, or None."""

    text: str
    engine: LinearPattern | re.Pattern[str]
    unbounded: str | None = None

    def matches(self, name: str) -> bool:
        """Whether the pattern matches the whole name."""
        return bool(self.engine.fullmatch(name))

    def replace_first(self, name: str, parts: tuple[str | int, ...]) -> str:
        """Replace the first match, which may be shorter than the name, with text and groups."""
        if isinstance(self.engine, LinearPattern):
            template = [
                part.replace("$", "$$") if isinstance(part, str) else f"${{{part}}}"
                for part in parts
            ]
            return self.engine.replace_first(name, "".join(template))
        template = [
            part.replace("\\", r"\\") if isinstance(part, str) else rf"\g<{part}>" for part in parts
        ]
        return self.engine.sub("".join(template), name, count=1)

    @property
    def warning(self) -> str | None:
        """A clause about unbounded matching time, to follow the name of the property."""
        return self.unbounded and (
            f"contains `{self.text}`, which may take unbounded time: {self.unbounded}. Replace "
            "look-around with an exclude list, and a back reference with alternatives"
        )


def compile_pattern(text: str, *, ignores_case: bool = False, is_linear: bool = False) -> Pattern:
    """Compile a pattern. Raises ExpressionError; if `is_linear`, also for one that needs `re`."""
    if len(text) > _MAX_LENGTH:
        raise ExpressionError(f"{len(text)} characters; {_MAX_LENGTH} are allowed. Shorten it")
    found = next((each for each in _DIFFERENT.finditer(text) if each.lastgroup), None)
    unbounded = found and f"`{found[0]}` has a different meaning in the linear engine"
    if unbounded is None:
        try:
            return Pattern(text, LinearPattern(text, ignores_case=ignores_case))
        except OverflowError as error:
            raise ExpressionError(
                f"{text!r} is too large after expanding its repetitions. Simplify it"
            ) from error
        except ValueError as error:
            unbounded = str(error).splitlines()[-1].removeprefix("error: ")
    if is_linear:
        raise ExpressionError(
            f"{text!r} is not a regular expression with bounded time: {unbounded}"
        )
    try:
        # Java's syntax for named groups.
        plain = _NAMED_GROUP.sub("(?P<", text)
        engine = re.compile(plain, re.IGNORECASE if ignores_case else re.NOFLAG)
    except re.error as error:
        raise ExpressionError(f"{text!r} is not a regular expression: {error}") from error
    except (RecursionError, OverflowError) as error:
        raise ExpressionError("too deeply nested or too large. Simplify it") from error
    return Pattern(text, engine, unbounded)
