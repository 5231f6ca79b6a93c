"""Regular expressions from the configuration or a signal.

Rust's `regex` crate matches them in linear time. It lacks look-around and back references, which
Debezium allows; Python's `re`, which backtracks, matches patterns that need them.
"""

import re
from dataclasses import dataclass

from mongo_agent.encoder import LinearPattern

_MAX_LENGTH = 65_536
_NAMED_GROUP = re.compile(r"\(\?<(?![=!])")
# Syntax with another meaning in the crate than in Python and Java: `\<`, `\b{`, set operators other
# than `&&`, the flags R, U and x, repeated and possessive quantifiers, spaces in a quantifier. The
# parts without a name skip other escapes and sets.
_DIFFERENT = re.compile(
    r"(?P<escape>\\[<>]|\\b\{)|\\[pPux]\{[^}]*+\}?|\\."
    r"|(?P<operator>\[\^?\]?(?:\\.|(?!--|~~)[^\]\\])*+(?:--|~~))|\[\^?\]?(?:\\.|[^\]\\])*+"
    r"|(?P<flag>\(\?[a-wyz-]*+[RUx])"
    r"|(?P<repeated>[*+?}]\??+[*+?{])"
    r"|(?P<space>\{[\d,]*+\s)",
    re.DOTALL,
)


class ExpressionError(ValueError):
    """Not a regular expression, or too large; names the part and the remedy."""


@dataclass(frozen=True)
class Pattern:
    """A compiled expression. `unbounded`: why the linear engine cannot match it, if so."""

    text: str
    engine: LinearPattern | re.Pattern[str]
    unbounded: str | None = None

    def matches(self, name: str) -> bool:
        """Whether it matches the whole name."""
        return bool(self.engine.fullmatch(name))

    def replace_first(self, name: str, parts: tuple[str | int, ...]) -> str:
        """Replace the first match, which may be shorter than the name, by text and groups."""
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
        """The end of a sentence that begins with the property."""
        return self.unbounded and (
            f"has `{self.text}`, which may take unbounded time: {self.unbounded}. Replace "
            "look-around by an exclude list, and a back reference by alternatives"
        )


def compile_pattern(text: str, *, ignores_case: bool = False, is_linear: bool = False) -> Pattern:
    """Raises ExpressionError; if it must be `is_linear`, also for a pattern that needs `re`."""
    if len(text) > _MAX_LENGTH:
        raise ExpressionError(f"{len(text)} characters; {_MAX_LENGTH} are allowed. Shorten it")
    found = next((each for each in _DIFFERENT.finditer(text) if each.lastgroup), None)
    unbounded = found and f"`{found[0]}` has another meaning in the linear engine"
    if unbounded is None:
        try:
            return Pattern(text, LinearPattern(text, ignores_case=ignores_case))
        except OverflowError as error:
            raise ExpressionError(
                f"{text!r} is too large once its repetitions are written out. Simplify it"
            ) from error
        except ValueError as error:
            unbounded = str(error).splitlines()[-1].removeprefix("error: ")
    if is_linear:
        raise ExpressionError(
            f"{text!r} is not a regular expression with bounded time: {unbounded}"
        )
    try:
        # Java's syntax of a named group.
        plain = _NAMED_GROUP.sub("(?P<", text)
        engine = re.compile(plain, re.IGNORECASE if ignores_case else re.NOFLAG)
    except re.error as error:
        raise ExpressionError(f"{text!r} is not a regular expression: {error}") from error
    except (RecursionError, OverflowError) as error:
        raise ExpressionError("too deeply nested or too large. Simplify it") from error
    return Pattern(text, engine, unbounded)
