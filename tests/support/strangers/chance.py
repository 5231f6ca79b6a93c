"""Random choices that reach the ends: log-uniform sizes, values beside a limit, any letter.

Everything follows from the seed. Nothing here is a list of known cases: letters come from the
categories of Unicode, numbers from random bits, limits from the caller.
"""

import math
import string
import sys
from collections.abc import Sequence
from functools import cache
from itertools import groupby
from random import Random
from typing import TypeVar
from unicodedata import category, normalize

T = TypeVar("T")


class Chance(Random):
    """`Chance("seed/3")`."""

    def flag(self, share: float) -> bool:
        return self.random() < share

    def size(self, least: int, most: int) -> int:
        """Log-uniform, both ends included; `least` is at least 1."""
        exponent = self.uniform(math.log2(least), math.log2(most + 1))
        # Also beyond the largest float.
        found = int(2 ** (exponent % 1 + 52)) << int(exponent) >> 52
        return min(max(found, least), most)

    def extent(self, most: int, least: int = 1) -> int:
        """Small or large by half, and then log-uniform from that end."""
        distance = self.size(1, most - least + 1)
        return least + distance - 1 if self.flag(0.5) else most - distance + 1

    def offset(self, most: int) -> int:
        """Log-uniform, of both signs."""
        return self.choice((-1, 1)) * self.size(1, most)

    def popular(self, items: Sequence[T]) -> T:
        """One of them, the first ones far more often than the last ones."""
        return items[self.size(1, len(items)) - 1]

    def integer(self, bits: int) -> int:
        """Of a signed type with so many bits; as often near an end as anywhere else."""
        end = 1 << (bits - 1)
        if self.flag(0.5):
            return self.choice((-end + self.size(1, end) - 1, end - self.size(1, end)))
        return max(min(self.offset(end), end - 1), -end)

    def letter(self, forbidden: str = "") -> str:
        """Of any category alike."""
        while True:
            if (found := self.choice(self.choice(_categories()))) not in forbidden:
                return found

    def text(self, letters: int, forbidden: str = "", most_bytes: int | None = None) -> str:
        """Plain letters or those of all categories, by half; cut to a number of bytes."""
        if self.flag(0.3):
            found = "".join(self.choices(string.ascii_lowercase, k=letters))
        else:
            found = "".join(self.letter(forbidden) for _ in range(letters))
        return found if most_bytes is None else cut(found, most_bytes)

    def twin(self, name: str, forbidden: str = "") -> str:
        """A name that something may take for the given one: other case, another form of Unicode,
        another letter that is no letter to many, or a longer one with the same start."""
        at = self.randrange(len(name))
        odd = [place for place, each in enumerate(name) if not (each.isascii() and each.isalnum())]
        match self.randrange(4):
            case 0:
                changed = name[at].swapcase()
            case 1:
                return normalize(self.choice(("NFC", "NFD", "NFKC", "NFKD")), name)
            case 2:
                at = self.choice(odd) if odd else at
                changed = self.choice(sorted(set(string.punctuation) - set(forbidden)))
            case _:
                return name + self.letter(forbidden)
        return name[:at] + changed + name[at + 1 :]


def cut(text: str, most_bytes: int) -> str:
    """The longest start of a text with so few bytes of UTF-8."""
    return text.encode()[:most_bytes].decode(errors="ignore")


@cache
def _categories() -> list[str]:
    """All letters but surrogates, which UTF-8 does not have, by their category."""
    letters = sorted(map(chr, range(sys.maxunicode + 1)), key=category)
    return ["".join(group) for name, group in groupby(letters, category) if name != "Cs"]
