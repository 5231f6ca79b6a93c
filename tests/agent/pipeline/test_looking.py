"""When the agent looks at `cdc_raw` by itself: `cdc.dir.poll.interval.ms`."""

from pathlib import Path

import pytest

from agent.pipeline.looking import Looking
from tests.agent.pipeline.fakes import FakeClock


def test_where_nothing_rings_it_looks_after_the_interval(tmp_path: Path) -> None:
    clock = FakeClock()
    looking = Looking(tmp_path, 7.0, lambda: None, clock=clock)
    try:
        assert looking.due_in_s == 0.0
        assert looking.look(()) is not None
        assert looking.due_in_s == pytest.approx(7.0)
        clock.advance(6.5)
        assert looking.due_in_s == pytest.approx(0.5)
        clock.advance(0.5)
        assert looking.due_in_s == 0.0
    finally:
        looking.close()


def test_what_rings_is_looked_at_at_once(tmp_path: Path) -> None:
    looking = Looking(tmp_path, 7.0, lambda: None, clock=FakeClock())
    try:
        looking.look(())
        looking.want()
        assert looking.due_in_s == 0.0
    finally:
        looking.close()
