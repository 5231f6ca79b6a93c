"""Durations and sizes in messages."""

import pytest

from sidecar.quantities import duration_text, size_text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (3.25, "3.2 s"),
        (9.0, "9 s"),
        (61.5, "62 s"),
        (121.0, "2 min"),
        (3600.0, "1.0 h"),
        (172_800.0, "2 days"),
    ],
)
def test_durations_use_a_fitting_unit(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (1_059_715, "1.0 MiB"), (1 << 40, "1.0 TiB")],
)
def test_sizes_use_a_fitting_unit(size: float, text: str) -> None:
    assert size_text(size) == text
