"""A slice of the targets that damage recordings: a fixed seed and a fresh one for each."""

import random
from pathlib import Path

import pytest

from tests.support.fuzz.damaged import TARGETS, Seed, seeds


@pytest.fixture(scope="module")
def recordings() -> list[Seed]:
    return seeds()


@pytest.mark.parametrize("target", sorted(TARGETS))
@pytest.mark.parametrize("first", [1, None], ids=["fixed", "fresh"])
def test_damaged_input(
    target: str, first: int | None, recordings: list[Seed], tmp_path: Path
) -> None:
    start = first if first is not None else random.SystemRandom().randrange(1 << 30)
    for number in range(start, start + 150):
        rng = random.Random(number)
        recording = rng.choice(recordings)
        print(f"{target}: seed {number}, {recording.label}")
        TARGETS[target](recording, rng, tmp_path)
