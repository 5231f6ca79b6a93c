"""How long until `cdc_raw` is full."""

import math

from hypothesis import given
from hypothesis import strategies as st

from agent.cdc_raw.disk_forecast import GrowthRate, time_to_full_s


def test_a_stopped_broker_fills_it_steadily() -> None:
    growth = GrowthRate()
    for second in range(0, 300, 5):
        growth.add(second // 30 * 30_000, float(second))
    assert growth.bytes_per_s is not None
    assert 900 <= growth.bytes_per_s <= 1100
    assert 600 < time_to_full_s(270_000, 1_000_000, growth.bytes_per_s) < 900


def test_no_forecast_before_there_is_a_rate() -> None:
    growth = GrowthRate()
    assert growth.bytes_per_s is None
    growth.add(5, 0.0)
    growth.add(9, 20.0)
    assert growth.bytes_per_s is None
    assert math.isnan(time_to_full_s(9, 100, growth.bytes_per_s))
    assert math.isnan(time_to_full_s(9, None, 5.0))


def test_samples_older_than_ten_minutes_do_not_count() -> None:
    growth = GrowthRate()
    growth.add(0, 0.0)
    for second in range(1000, 2000, 5):
        growth.add(1_000_000, float(second))
    assert growth.bytes_per_s == 0
    assert math.isinf(time_to_full_s(1_000_000, 2_000_000, growth.bytes_per_s))


@given(st.integers(0, 10**12), st.integers(0, 10**12), st.floats(-1e9, 1e9))
def test_full_is_full(size: int, limit: int, rate: float) -> None:
    seconds = time_to_full_s(size, limit, rate)
    assert seconds >= 0
    assert (seconds == 0) == (size >= limit)
    assert math.isinf(seconds) or size >= limit or rate > 0
