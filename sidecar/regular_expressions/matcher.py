"""Runs a program over a text: each pair of instruction and position at most once.

What follows from such a pair does not depend on the way to it, as there are no references to
groups. So a pair that led nowhere is never tried again, and the first way that is found is the one
that Python's engine finds.
"""

from sidecar.regular_expressions.program import Op, Program

Saved = tuple[int, int, "Saved"] | None
"""Starts and ends of groups, the last one first."""
Result = tuple[int, Saved] | None
"""The end of a match, and its groups."""


class Matcher:
    """A run over one text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._parts: dict[tuple[Program, int, int | None], Result] = {}

    def run(
        self, program: Program, at: int, end: int | None = None, failed: set[int] | None = None
    ) -> Result:
        """A match that begins `at` and, where it is given, ends at `end`. `failed` is that of
        other beginnings."""
        text = self._text
        size = len(text) + 1
        instructions = program.instructions
        visited = set() if failed is None else failed
        waiting: list[tuple[int, int, Saved]] = [(0, at, None)]
        while waiting:
            counter, place, saved = waiting.pop()
            while True:
                key = counter * size + place
                if key in visited:
                    break
                visited.add(key)
                op, first, second = instructions[counter]
                counter += 1
                if op is Op.CHARACTER:
                    if first(text, place) is None:
                        break
                    place += 1
                elif op is Op.SPLIT:
                    waiting.append((second, place, saved))
                    counter = first
                elif op is Op.JUMP:
                    counter = first
                elif op is Op.REPEAT:
                    # An iteration that matched nothing ends the repetition, as in Python's engine.
                    counter = second if first * size + place in visited else first
                elif op is Op.SAVE:
                    saved = (first, place, saved)
                elif op is Op.POSITION:
                    if first(text, place) is None:
                        break
                elif op is Op.MATCH:
                    if end is None or place == end:
                        return place, saved
                    break
                elif op is Op.FAIL:
                    break
                else:
                    after = self._after(op, first, second, place, saved)
                    if after is None:
                        break
                    place, saved = after
        return None

    def _after(self, op: Op, part: Program, width: int, place: int, saved: Saved) -> Result:
        """Where it goes on behind an instruction that has a program of its own."""
        if op is Op.BEHIND or op is Op.NOT_BEHIND:
            found = self._part(part, place - width, place) if place >= width else None
        else:
            found = self._part(part, place, None)
        if op is Op.NOT_AHEAD or op is Op.NOT_BEHIND:
            return (place, saved) if found is None else None
        if found is None:
            return None
        return (found[0] if op is Op.ATOMIC else place), _joined(saved, found[1])

    def _part(self, part: Program, at: int, end: int | None) -> Result:
        key = (part, at, end)
        if key not in self._parts:
            self._parts[key] = self.run(part, at, end)
        return self._parts[key]


def _joined(saved: Saved, later: Saved) -> Saved:
    found = []
    while later is not None:
        found.append(later)
        later = later[2]
    for number, place, _ in reversed(found):
        saved = (number, place, saved)
    return saved
