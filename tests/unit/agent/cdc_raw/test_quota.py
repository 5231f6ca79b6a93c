"""The quota of `cdc_raw`, and the forecast of the time until it is full."""

import math
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.cdc_raw.quota import GrowthRate, Quota, time_to_full_s, watch_quota
from tests.support.servers.processes import wait_until


def test_quota_is_requested_until_known() -> None:
    answers = [Quota(None, "no SELECT permission.", "GRANT"), Quota(None, "no."), Quota(1000)]
    reported: list[Quota] = []
    expected = list(answers)
    with watch_quota(lambda: answers.pop(0), reported.append, interval_s=0.01):
        wait_until(lambda: reported == expected, "the limit")
    assert [quota.is_missing for quota in reported] == [True, True, False]


SEGMENT = 32 << 20
LIMIT = 4 << 30


def test_forecast_needs_growth_rate_and_limit() -> None:
    growth = GrowthRate()
    assert growth.bytes_per_s is None
    growth.add(5, 0.0)
    growth.add(9, 20.0)
    assert growth.bytes_per_s is None
    assert math.isnan(time_to_full_s(9, 100, growth.bytes_per_s))
    assert math.isnan(time_to_full_s(9, None, 5.0))


def test_growth_rate_ignores_samples_older_than_ten_minutes() -> None:
    growth = GrowthRate()
    growth.add(0, 0.0)
    for second in range(1000, 2000, 5):
        growth.add(1_000_000, float(second))
    assert growth.bytes_per_s == 0
    assert math.isinf(time_to_full_s(1_000_000, 2_000_000, growth.bytes_per_s))


@given(st.integers(0, 10**12), st.integers(0, 10**12), st.floats(-1e9, 1e9))
def test_forecast_is_zero_only_when_full(size: int, limit: int, rate: float) -> None:
    seconds = time_to_full_s(size, limit, rate)
    assert seconds >= 0
    assert (seconds == 0) == (size >= limit)
    assert math.isinf(seconds) or size >= limit or rate > 0


def outage(
    before: list[int], period_s: float, phase: float, samples_s: list[float]
) -> Iterator[tuple[float, float, float]]:
    """Seconds since the last delivery, forecast, and true seconds until `cdc_raw` is full.

    `before` lists the segment counts at each sample before the outage. During the outage no
    segment leaves `cdc_raw`, and one arrives every `period_s` seconds."""
    growth, now_s = GrowthRate(), 0.0
    for segments in before:
        growth.add(segments * SEGMENT, now_s)
        now_s += 5.0
    begin_s, waiting = now_s, before[-1] if before else 0
    for pause_s in samples_s:
        segments = waiting + math.floor((now_s - begin_s) / period_s + phase)
        growth.add(segments * SEGMENT, now_s)
        size = segments * SEGMENT
        if size >= LIMIT:
            return
        truth_s = (LIMIT - size) * period_s / SEGMENT
        yield now_s - begin_s, time_to_full_s(size, LIMIT, growth.bytes_per_s), truth_s
        now_s += pause_s


@given(
    before=st.one_of(
        st.just([]),
        st.integers(1, 200).map(lambda count: [0] * count),
        st.lists(st.integers(0, 40), max_size=200),
    ),
    period_s=st.floats(0.5, 30.0),
    phase=st.floats(0.0, 0.999),
    samples_s=st.lists(st.floats(0.5, 8.0), min_size=10, max_size=150),
)
def test_outage_forecast_is_at_most_twice_true_time(
    before: list[int], period_s: float, phase: float, samples_s: list[float]
) -> None:
    """The bound holds 30 s after the outage starts, regardless of earlier growth."""
    for since_s, forecast_s, truth_s in outage(before, period_s, phase, samples_s):
        if since_s >= 30.0:
            assert forecast_s <= 2 * truth_s * 1.000001


@given(
    quiet=st.integers(0, 200),
    period_s=st.floats(0.5, 30.0),
    phase=st.floats(0.0, 0.999),
    samples_s=st.lists(st.floats(0.5, 8.0), min_size=10, max_size=150),
)
def test_outage_forecast_after_quiet_time_is_at_least_half(
    quiet: int, period_s: float, phase: float, samples_s: list[float]
) -> None:
    for _, forecast_s, truth_s in outage([0] * quiet, period_s, phase, samples_s):
        assert math.isnan(forecast_s) or forecast_s >= truth_s / 2.000001


@pytest.mark.parametrize("period_s", [2.0, 6.7, 28.0])
def test_alarm_fires_in_first_third_of_outage(period_s: float) -> None:
    """Above 10 % full, a forecast under 20 minutes for one minute, or two hours for six, fires."""
    alarm_s: float | None = None
    since_s: dict[float, float | None] = {1200.0: None, 7200.0: None}
    whole_s = LIMIT / SEGMENT * period_s
    for now_s, forecast_s, truth_s in outage([0] * 200, period_s, 0.0, [5.0] * 1000):
        for bound_s, wait_s in ((1200.0, 60.0), (7200.0, 360.0)):
            is_soon = forecast_s < bound_s and whole_s - truth_s > 0.1 * whole_s
            begun_s = since_s[bound_s]
            since_s[bound_s] = (now_s if begun_s is None else begun_s) if is_soon else None
            if is_soon and begun_s is not None and now_s - begun_s >= wait_s:
                alarm_s = min(now_s, math.inf if alarm_s is None else alarm_s)
    assert alarm_s is not None
    assert alarm_s < whole_s / 3 + 60.0
