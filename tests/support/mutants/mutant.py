"""A mutant: one changed line of a file, found again by its text and the lines around it."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.mutants.modules import REPOSITORY

DRAWN = Path(__file__).with_name("drawn.json")
AROUND = 3
"""Lines on each side that tell equal lines apart."""


class PlaceGoneError(Exception):
    """The line of a mutant is no longer in its file."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """`line` is the number at the draw, from 1; `above` and `below` are the lines around it."""

    id: str
    module: str
    file: str
    line: int
    operator: str
    before: str
    after: str
    above: tuple[str, ...]
    below: tuple[str, ...]

    @property
    def path(self) -> Path:
        return REPOSITORY / self.file

    def find(self) -> int:
        """The present number of the line, from 1. Raises PlaceGoneError."""
        if not self.path.exists():
            raise PlaceGoneError(f"{self.id}: {self.file} is gone")
        lines = self.path.read_text(encoding="utf-8").splitlines()
        text = self.before.strip()
        places = [index for index, line in enumerate(lines) if line.strip() == text]
        if not places:
            raise PlaceGoneError(f"{self.id}: {self.file} has no line {text!r}")
        likeness = {index: self._likeness(lines, index) for index in places}
        best = max(places, key=lambda index: (likeness[index], -abs(index + 1 - self.line)))
        if not likeness[best] and best + 1 != self.line:
            raise PlaceGoneError(f"{self.id}: {self.file} has {text!r} only among other lines")
        return best + 1

    @contextmanager
    def applied(self) -> Iterator[int]:
        """Changes the line for a while; yields its number. Raises PlaceGoneError."""
        number = self.find()
        original, status = self.path.read_bytes(), self.path.stat()
        lines = original.decode().splitlines(keepends=True)
        present = lines[number - 1]
        indent = present[: len(present) - len(present.lstrip())]
        lines[number - 1] = f"{indent}{self.after.strip()}\n"
        try:
            self.path.write_text("".join(lines), encoding="utf-8")
            yield number
        finally:
            self.path.write_bytes(original)
            if self.path.suffix == ".py":
                # Python compares compiled files by this time; cargo needs the new one.
                os.utime(self.path, ns=(status.st_atime_ns, status.st_mtime_ns))

    def _likeness(self, lines: list[str], index: int) -> int:
        """How many of the lines around are as they were."""
        near_above = {line.strip() for line in lines[max(0, index - 2 * AROUND) : index]}
        near_below = {line.strip() for line in lines[index + 1 : index + 1 + 2 * AROUND]}
        above = sum(line.strip() in near_above for line in self.above if line.strip())
        return above + sum(line.strip() in near_below for line in self.below if line.strip())


def drawn() -> list[Mutant]:
    """All drawn mutants."""
    records = json.loads(DRAWN.read_text(encoding="utf-8"))["mutants"]
    return [
        Mutant(**{**record, "above": tuple(record["above"]), "below": tuple(record["below"])})
        for record in records
    ]
