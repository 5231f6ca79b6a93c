"""What counts as growth in the rows that measure what the agent uses."""

from dataclasses import replace

import pytest

from tests.acceptance.faults.process_use import Growth, Sampling, Use

_USE = Use(resident_bytes=100, descriptors=10, threads=5, quarantined_files=1)


def require(**last: int) -> None:
    Growth(_USE, replace(_USE, **last)).require_flat(resident_bytes=10, descriptors=2, threads=1)


def test_growth_beyond_the_bounds_is_rejected() -> None:
    require(resident_bytes=110, descriptors=12, threads=6)
    beyond = {"resident_bytes": 111, "descriptors": 13, "threads": 7, "quarantined_files": 2}
    for name, value in beyond.items():
        with pytest.raises(AssertionError, match="Growth"):
            require(**{name: value})


def test_the_thirds_of_a_run_are_compared() -> None:
    samples = Sampling(pid=1)
    samples.samples = [replace(_USE, resident_bytes=number) for number in range(90)]
    growth = samples.growth
    assert (growth.first.resident_bytes, growth.last.resident_bytes) == (29, 89)
    del samples.samples[50:]
    with pytest.raises(AssertionError, match="50 samples are too few"):
        _ = samples.growth
