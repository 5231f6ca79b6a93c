"""Regular expressions that match in bounded time, by Python's or our own engine."""

import re
from dataclasses import dataclass

from sidecar.regular_expressions.matcher import Matcher, Saved
from sidecar.regular_expressions.paths import FEW, count_paths
from sidecar.regular_expressions.program import Program, program
from sidecar.regular_expressions.syntax import compiled, parsed

Span = tuple[int, int]
"""Start and end of a group; (-1, -1) for one outside the match."""


@dataclass(frozen=True)
class BoundedPattern:
    """An expression; `program` replaces Python's engine when it has too many paths."""

    compiled: re.Pattern[str]
    program: Program | None

    def matches(self, text: str) -> bool:
        if self.program is None:
            return self.compiled.fullmatch(text) is not None
        return Matcher(text).run(self.program, 0, len(text)) is not None

    def first(self, text: str) -> tuple[Span, ...] | None:
        """The first match in a text: its span, then the spans of its groups."""
        groups = range(self.compiled.groups + 1)
        if self.program is None:
            found = self.compiled.search(text)
            return found and tuple(found.span(number) for number in groups)
        matcher, failed = Matcher(text), set[int]()
        for start in range(len(text) + 1):
            result = matcher.run(self.program, start, None, failed)
            if result is not None:
                end, saved = result
                return ((start, end), *_spans(saved, len(groups)))
        return None


def compile_bounded(text: str, flags: int = 0) -> BoundedPattern:
    """Raises ExpressionError."""
    tree = parsed(text, flags)
    few = count_paths(tree) <= FEW
    return BoundedPattern(
        compiled(text, flags), None if few else program(tree, int(tree.state.flags))
    )


def _spans(saved: Saved, groups: int) -> list[Span]:
    places: dict[int, int] = {}
    while saved is not None:
        places.setdefault(saved[0], saved[1])
        saved = saved[2]
    return [
        (places.get(2 * number, -1), places.get(2 * number + 1, -1)) for number in range(1, groups)
    ]
