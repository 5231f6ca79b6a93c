"""Counts the steps of Python's backtracking matcher, so that a test needs no clock.

`steps` walks the parsed expression as `re` does: in order, with the same alternatives. What it
counts grows as the time of `re` grows.
"""

import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any

from re import _constants as op  # type: ignore[attr-defined]  # isort: skip
from re import _parser as parser  # type: ignore[attr-defined]  # isort: skip

MOST_STEPS = 100_000
_CATEGORIES: dict[Any, Callable[[str], bool]] = {
    op.CATEGORY_DIGIT: str.isdigit,
    op.CATEGORY_NOT_DIGIT: lambda each: not each.isdigit(),
    op.CATEGORY_SPACE: str.isspace,
    op.CATEGORY_NOT_SPACE: lambda each: not each.isspace(),
    op.CATEGORY_WORD: lambda each: each.isalnum() or each == "_",
    op.CATEGORY_NOT_WORD: lambda each: not (each.isalnum() or each == "_"),
}


class TooManyStepsError(Exception):
    pass


class _Matcher:
    def __init__(self, text: str, flags: int) -> None:
        self.text, self.flags, self.steps = text, flags, 0

    def ends(self, items: list[Any], at: int) -> Iterator[int]:
        """The places where the items can end, in the order of `re`."""
        if not items:
            yield at
            return
        for end in self.one(items[0], at):
            yield from self.ends(items[1:], end)

    def one(self, item: Any, at: int) -> Iterator[int]:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise TooManyStepsError
        code, value = item
        if code in (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN):
            if at < len(self.text) and self.is_in(item, self.text[at]):
                yield at + 1
        elif code is op.BRANCH:
            for branch in value[1]:
                yield from self.ends(list(branch), at)
        elif code is op.SUBPATTERN:
            yield from self.ends(list(value[3]), at)
        elif code is op.ATOMIC_GROUP:
            yield from itertools.islice(self.ends(list(value), at), 1)
        elif code in (op.MAX_REPEAT, op.MIN_REPEAT):
            yield from self.repeated(value[0], value[1], list(value[2]), at, code is op.MAX_REPEAT)
        elif code is op.POSSESSIVE_REPEAT:
            found = self.repeated(value[0], value[1], list(value[2]), at, True)
            yield from itertools.islice(found, 1)
        elif code in (op.ASSERT, op.ASSERT_NOT):
            yield from self.looked(value, at, code is op.ASSERT)
        elif code is op.AT:
            if self.is_at(value, at):
                yield at
        else:
            raise NotImplementedError(str(code))

    def repeated(
        self, least: int, most: int, body: list[Any], at: int, is_greedy: bool
    ) -> Iterator[int]:
        stack = [(at, 0, self.ends(body, at) if most else iter(()))]
        if not is_greedy and least == 0:
            yield at
        while stack:
            start, count, ends = stack[-1]
            end = next(ends, None)
            if end is None or (end == start and count >= least):
                stack.pop()
                if is_greedy and count >= least:
                    yield start
                continue
            more = self.ends(body, end) if count + 1 < most else iter(())
            stack.append((end, count + 1, more))
            if not is_greedy and count + 1 >= least:
                yield end

    def looked(self, value: Any, at: int, is_wanted: bool) -> Iterator[int]:
        direction, body = value
        items = list(body)
        if direction > 0:
            found = next(self.ends(items, at), None) is not None
        else:
            width = body.getwidth()[0]
            found = at >= width and at in self.ends(items, at - width)
        if found == is_wanted:
            yield at

    def is_in(self, item: Any, letter: str) -> bool:
        if item[0] is op.ANY:
            return letter != "\n" or bool(self.flags & re.DOTALL)
        if self.flags & re.IGNORECASE:
            return any(self.is_one(item, each) for each in {letter.lower(), letter.upper()})
        return self.is_one(item, letter)

    def is_one(self, item: Any, letter: str) -> bool:
        code, value = item
        if code is op.LITERAL:
            return bool(ord(letter) == value)
        if code is op.NOT_LITERAL:
            return bool(ord(letter) != value)
        if code is op.RANGE:
            return bool(value[0] <= ord(letter) <= value[1])
        if code is op.CATEGORY:
            return _CATEGORIES[value](letter)
        parts = list(value)
        is_negated = bool(parts) and parts[0][0] is op.NEGATE
        return any(self.is_one(part, letter) for part in parts[is_negated:]) != is_negated

    def is_at(self, where: Any, at: int) -> bool:
        text = self.text
        if where in (op.AT_BEGINNING, op.AT_BEGINNING_STRING):
            is_line = where is op.AT_BEGINNING and self.flags & re.MULTILINE
            return at == 0 or bool(is_line and text[at - 1] == "\n")
        if where in (op.AT_END, op.AT_END_STRING):
            is_line = where is op.AT_END and self.flags & re.MULTILINE
            is_last = where is op.AT_END and text[at:] == "\n"
            return at == len(text) or is_last or bool(is_line and text[at] == "\n")
        word = [bool(re.fullmatch(r"\w", text[i : i + 1])) for i in (at - 1, at) if i >= 0]
        is_edge = (word[0] if at else False) != (word[-1] if at < len(text) else False)
        return is_edge == (where is op.AT_BOUNDARY)


def steps(pattern: re.Pattern[Any], text: str, method: str) -> int:
    """The steps of a method of the pattern over a text that a mistake at its end rejects. `search`
    also stands for `sub`, `split` and `finditer`: a match goes on at its end."""
    tree = parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE)
    items, flags = list(tree), tree.state.flags | pattern.flags
    if method == "fullmatch":
        items.append((op.AT, op.AT_END_STRING))
    matcher = _Matcher(text, flags)
    at = 0
    while at <= len(text):
        end = next(matcher.ends(items, at), None)
        if method != "search":
            break
        at = at + 1 if end is None or end == at else end
    return matcher.steps


def matches(pattern: re.Pattern[str], text: str) -> list[tuple[int, int]]:
    """The places of all matches that are not empty, as `finditer` has them."""
    tree = parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE)
    matcher, at, found = _Matcher(text, pattern.flags), 0, []
    while at <= len(text):
        end = next(matcher.ends(list(tree), at), None)
        if end is not None and end > at:
            found.append((at, end))
        at = at + 1 if end is None or end == at else end
    return found


def attacks(pattern: re.Pattern[Any], most: int) -> Iterator[tuple[str, str, str]]:
    """Beginning, part to repeat, and end of texts that make a matcher try again: made of at most
    `most` letters that the pattern names, and of its words."""
    source = pattern.pattern
    if isinstance(source, bytes):
        source = source.decode("latin-1")
    tree = parser.parse(source, pattern.flags & ~re.UNICODE)
    letters = sorted(set(_letters(tree)))[:most]
    letters = list(dict.fromkeys([*letters, "a", "0", " "]))
    words = [word for word in re.findall(r"[A-Za-z_]{3,}[:=]?", source) if len(word) < 40][:most]
    pairs = [first + second for first, second in itertools.product(letters, repeat=2)]
    runs = sorted(set(_runs(tree)))[:most]
    for part in (*letters, *pairs, *words, *runs, *(f"{run}a" for run in runs)):
        for begin in ("", *letters[: most // 4], *words[: most // 7]):
            yield begin, part, "\0"


def _letters(tree: Any) -> Iterator[str]:
    for code, value in tree:
        if code in (op.LITERAL, op.NOT_LITERAL):
            yield chr(value)
        elif code is op.IN:
            yield from _letters(part for part in value if part[0] in (op.LITERAL, op.NOT_LITERAL))
            yield from (chr(part[1][0]) for part in value if part[0] is op.RANGE)
        elif code is op.BRANCH:
            for branch in value[1]:
                yield from _letters(branch)
        elif code is op.SUBPATTERN:
            yield from _letters(value[3])
        elif code in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            yield from _letters(value[2])
        elif code is op.ATOMIC_GROUP:
            yield from _letters(value)


def _runs(tree: Any) -> Iterator[str]:
    """Letters that follow each other."""
    run = ""
    for code, value in [*tree, (None, None)]:
        if code is op.LITERAL:
            run += chr(value)
            continue
        if len(run) > 1:
            yield run
        run = ""
        if code is op.BRANCH:
            for branch in value[1]:
                yield from _runs(branch)
        elif code is op.SUBPATTERN:
            yield from _runs(value[3])
        elif code in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            yield from _runs(value[2])
