"""Random choices that reach the ends: log-uniform sizes, values beside a limit, any letter.

Everything follows from the seed. Nothing here is a list of known cases: letters come from the
categories of Unicode, numbers from random bits, limits from the caller.
"""

import math
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from random import Random

_FLOAT_BITS = 1000
_UNENCODABLE = "Cs"
"""Surrogates, which UTF-8 does not have."""


class Chance(Random):
    """`Chance("seed/3")`."""

    def flag(self, share: float) -> bool:
        return self.random() < share

    def size(self, least: int, most: int) -> int:
        """Log-uniform, both ends included; `least` is at least 1."""
        if most.bit_length() > _FLOAT_BITS:
            bits = self.randrange(least.bit_length(), most.bit_length() + 1)
            return min(max(self.getrandbits(bits), least), most)
        found = math.exp(self.uniform(math.log(least), math.log(most + 1)))
        return min(max(int(found), least), most)

    def extent(self, most: int, least: int = 1) -> int:
        """Small or large by half, and then log-uniform from that end."""
        distance = self.size(1, most - least + 1)
        return least + distance - 1 if self.flag(0.5) else most - distance + 1

    def offset(self, most: int) -> int:
        """Log-uniform, of both signs."""
        return self.choice((-1, 1)) * self.size(1, most)

    def integer(self, bits: int) -> int:
        """Of a signed type with so many bits; as often near an end as anywhere else."""
        end = 1 << (bits - 1)
        if self.flag(0.5):
            return self.choice((-end + self.size(1, end) - 1, end - self.size(1, end)))
        return max(min(self.offset(end), end - 1), -end)

    def letter(self, forbidden: str = "") -> str:
        """Of any category alike."""
        while True:
            letters = _categories()[self.choice(sorted(_categories()))]
            found = letters[self.randrange(len(letters))]
            if found not in forbidden:
                return found

    def text(self, letters: int, forbidden: str = "", most_bytes: int | None = None) -> str:
        """Plain letters or those of all categories, by half; cut to a number of bytes."""
        plain = self.flag(0.3)
        alphabet = "".join(chr(each) for each in range(ord("a"), ord("z") + 1))
        found = ""
        for _ in range(letters):
            found += self.choice(alphabet) if plain else self.letter(forbidden)
        return found if most_bytes is None else cut(found, most_bytes)

    def twin(self, name: str, forbidden: str = "") -> str:
        """A name that something may take for the given one: other case, another form of Unicode,
        another letter that is no letter to many, or a longer one with the same start."""
        at = self.randrange(len(name))
        letter = name[at]
        odd = [place for place, each in enumerate(name) if not (each.isascii() and each.isalnum())]
        match self.randrange(4):
            case 0:
                changed = letter.swapcase()
            case 1:
                return unicodedata.normalize(self.choice(("NFC", "NFD", "NFKC", "NFKD")), name)
            case 2:
                at = self.choice(odd) if odd else at
                marks = [chr(each) for each in range(ord("!"), 127) if not chr(each).isalnum()]
                changed = self.choice([each for each in marks if each not in forbidden])
            case _:
                return name + self.letter(forbidden)
        return name[:at] + changed + name[at + 1 :]


def cut(text: str, most_bytes: int) -> str:
    """The longest start of a text with so few bytes of UTF-8."""
    return text.encode()[:most_bytes].decode(errors="ignore")


@cache
def _categories() -> Mapping[str, str]:
    """All letters by their category."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for code in range(sys.maxunicode + 1):
        letter = chr(code)
        found[unicodedata.category(letter)].append(letter)
    del found[_UNENCODABLE]
    return {category: "".join(letters) for category, letters in found.items()}
