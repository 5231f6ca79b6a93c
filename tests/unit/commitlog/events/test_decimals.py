"""Decimals become the nearest double, as in Python's `float(Decimal(…))`."""

import random
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import commitlog
from tests.oracle import writer
from tests.support.segments.damaged_segments import NAME, TABLE
from tests.support.segments.segment_reading import events, overwrite, reader_of

SCHEMA = commitlog.Schema.from_cql(
    f"CREATE TABLE k.t (p text, c int, v decimal, PRIMARY KEY (p, c)) "
    f"WITH ID = {TABLE} AND cdc = true"
)
EXACT = Context(prec=200_000, Emax=MAX_EMAX, Emin=MIN_EMIN)
MIDDLES = ((1 << 53) + 1, (1 << 53) + 3, (1 << 1024) - (1 << 970))
"""Numbers halfway between two doubles; above the last double lies infinity."""


def long_number(seed: int, size: int) -> int:
    return int.from_bytes(random.Random(seed).randbytes(size), signed=True)


NUMBERS = st.one_of(
    st.integers(-(10**40), 10**40),
    st.builds(long_number, st.integers(0, 1 << 32), st.integers(17, 12_000)),
    st.builds(
        lambda middle, zeros, more: middle * 10**zeros + more,
        st.sampled_from(MIDDLES),
        st.integers(0, 12_000),
        st.integers(-1, 1),
    ),
)


def written(number: int, scale: int) -> bytes:
    """A row with the decimal `number` × 10^-`scale`."""
    size = number.bit_length() // 8 + 1
    value = scale.to_bytes(4, signed=True) + number.to_bytes(size, signed=True)
    return writer.segment([[writer.mutation(writer.update(TABLE, writer.insert(0, value)))]])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(NUMBERS, st.integers(-340, 340))
@example(MIDDLES[0] * 10**11_000, 0)
@example(MIDDLES[2] * 10**11_000 - 1, 0)
@example(49 * 10**12_000, 324)
@example(25 * 10**12_000, 325)
@example(-24, 325)
def test_decimal_becomes_nearest_double(tmp_path: Path, number: int, shift: int) -> None:
    """Most results are finite: the scale is near the number of digits."""
    digits = Decimal(abs(number)).adjusted() if number else 0
    scale = max(0, digits - 50) + shift
    path = tmp_path / NAME
    overwrite(path, written(number, scale))
    (event,) = events(path, SCHEMA)
    assert float(event.value["after"]["v"]["value"]) == float(EXACT.scaleb(Decimal(number), -scale))


@pytest.mark.parametrize("scale", [-(1 << 31), (1 << 31) - 1])
def test_extreme_scale_takes_no_time(tmp_path: Path, scale: int) -> None:
    path = tmp_path / NAME
    path.write_bytes(written(-7, scale))
    (event,) = events(path, SCHEMA)
    assert float(event.value["after"]["v"]["value"]) == (float("-inf") if scale < 0 else 0)


@pytest.mark.parametrize("scale", [102_000, 102_353, 102_700])
def test_overlong_decimal_is_rejected_in_double_range(tmp_path: Path, scale: int) -> None:
    path = tmp_path / NAME
    path.write_bytes(written(1 << 340_000, scale))
    event_format = commitlog.EventFormat(topic_prefix="t", cluster="c", node_id="n")
    batch = reader_of(path).read(SCHEMA, event_format, complete=True)
    if scale == 102_353:
        assert batch.blocked is not None
        assert "digits exceed the limit of 100000" in batch.blocked.reason
    else:
        (event,) = events(path, SCHEMA)
        expected = float("inf") if scale < 102_353 else 0
        assert float(event.value["after"]["v"]["value"]) == expected
