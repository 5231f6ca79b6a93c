"""Requests for rows of any size, to a server that fails above a response size."""

import math
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from sidecar.fetch_size import FetchSize, Throttle
from tests.support.pipeline.fakes import FakeClock

TARGET_BYTES = 4 << 20
LIMIT = 10_000
LARGEST_BYTES = 5_000_000
PATIENCE = 1000


def rows(random: Random) -> list[int]:
    """Sizes of rows: runs of any order of magnitude, or a mixture."""
    found: list[int] = []
    while len(found) < 3_000:
        largest = math.log(random.choice([10, 1_000, 100_000, LARGEST_BYTES]))
        run = random.choice([1, 10, 1_000])
        found += [round(math.exp(random.uniform(0, largest))) for _ in range(run)]
    return found


@given(st.integers(0), st.integers(LARGEST_BYTES, 16 * TARGET_BYTES))
def test_every_row_is_read_in_answers_near_target_size(seed: int, bound: int) -> None:
    sizes = rows(Random(seed))
    size = FetchSize(TARGET_BYTES, LIMIT)
    done = failures = requests = since = 0
    refused = LIMIT + 1
    while done < len(sizes):
        requests, since = requests + 1, since + 1
        assert 1 <= size.rows < refused or since > PATIENCE
        page = sizes[done : done + size.rows]
        if sum(page) > bound and len(page) > 1:
            failures += 1
            refused, since = size.rows, 0
            size = size.failed(size.rows)
            continue
        before, size = size, size.after(len(page), sum(page))
        assert size.rows <= 2 * before.rows
        if before.is_too_large(len(page), sum(page)):
            continue
        assert len(page) == 1 or sum(page) <= 2 * TARGET_BYTES
        done += len(page)
    assert failures <= math.log2(LIMIT) + math.log2(1 + requests / PATIENCE) + 1
    # A small answer costs one request; no row is read repeatedly.
    assert requests <= len(sizes) + 100


@given(st.integers(1, LIMIT))
def test_fetch_size_recovers_after_unrelated_failure(asked: int) -> None:
    size = FetchSize(TARGET_BYTES, LIMIT, rows=asked).failed(asked)
    assert size.rows == max(1, asked // 2)
    answers = 0
    while size.rows <= asked // 2:
        size = size.after(size.rows, 100 * size.rows)
        answers += 1
        assert answers < 20_000


def test_empty_or_short_answer_leaves_fetch_size_unchanged() -> None:
    size = FetchSize(TARGET_BYTES, LIMIT, rows=64)
    assert size.after(0, 4) == size
    assert size.after(3, 30).rows == 64
    assert size.after(64, 640).rows == 128
    assert size.after(64, TARGET_BYTES).rows == 64


def test_throttle_limits_rows_per_second() -> None:
    clock, pauses = FakeClock(), list[float]()
    throttle = Throttle(100, clock=clock)
    for _ in range(3):
        pauses.append(throttle.due_in_s)
        clock.advance(throttle.due_in_s)
        throttle.add(50)
    assert pauses == [0, 0.5, 0.5]
    unlimited = Throttle(None, clock=clock)
    unlimited.add(1000)
    assert unlimited.due_in_s == 0
