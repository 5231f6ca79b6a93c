"""A slice of the full run over every bit, which `make fuzz` makes."""

from pathlib import Path

import pytest

from tests.fuzz.every_bit import SPECIMENS, check, some_bits, specimen
from tests.writer import Framing


@pytest.mark.parametrize("framing", SPECIMENS, ids=lambda framing: framing.name)
def test_one_flipped_bit(framing: Framing, tmp_path: Path) -> None:
    whole = specimen(framing, tmp_path)
    check(whole, some_bits(whole, step=1009), tmp_path)
