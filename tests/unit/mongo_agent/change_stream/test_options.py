"""Each release reads, skips or rejects a large event, and the error suggests only modes that work
there."""

from itertools import product

import pytest

from mongo_agent.change_stream.options import OversizePolicy, large_event_stage
from mongo_agent.change_stream.position import Opening, StreamPosition
from mongo_agent.change_stream.recovery import RecoveryPolicy, Reopen, recovery
from mongo_agent.documents import ClusterTime
from mongo_agent.server.errors import Failure
from mongo_agent.server.releases import LargeEvents, large_events_of
from sidecar.errors import SidecarError

RELEASES: dict[tuple[int, ...], LargeEvents] = {
    (4, 2, 0): "none",
    (4, 2, 25): "none",
    (4, 4, 0): "measure",
    (4, 9, 1): "measure",
    (5, 0, 31): "measure",
    (6, 0, 0): "measure",
    (6, 0, 8): "measure",
    (6, 0, 9): "split",
    (6, 0, 20): "split",
    (6, 1, 1): "measure",
    (6, 3, 2): "measure",
    (7, 0, 0): "split",
    (7, 3, 4): "split",
    (8, 0, 4): "split",
    (8, 2, 1): "split",
    (8, 3, 13): "split",
    (9, 0, 4): "split",
}
MODES: tuple[OversizePolicy, ...] = ("fail", "skip", "split")
WORKS: dict[LargeEvents, set[str]] = {
    "none": set(),
    "measure": {"skip"},
    "split": {"skip", "split"},
}
AT = StreamPosition({"_data": "8265C0FFEE"}, ClusterTime(1, 1), "f", "rs0")


@pytest.mark.parametrize(("version", "mode"), [*product(RELEASES, MODES)])
def test_large_event_recovery_depends_on_release(
    version: tuple[int, ...], mode: OversizePolicy
) -> None:
    server = large_events_of(version)
    assert server == RELEASES[version]
    rules = RecoveryPolicy(oversize=mode, large_events=server)
    step = recovery(Failure.TOO_LARGE, "BSONObj size is invalid", Opening(), AT, rules)
    assert isinstance(step, Reopen) == (mode in WORKS[server])
    if isinstance(step, Reopen):
        assert step.opening.is_split
        has_split = "$changeStreamSplitLargeEvent" in large_event_stage(server)
        assert has_split == (server == "split")
        # A second event is too large despite the stage.
        step = recovery(Failure.TOO_LARGE, "BSONObj size is invalid", step.opening, AT, rules)
    assert isinstance(step, SidecarError)
    text = str(step)
    advised = {each for each in MODES if f"`cursor.oversize.handling.mode={each}`" in text}
    assert advised <= WORKS[server] - {mode}
    assert "oplog" not in text
    assert advised or "`cursor.pipeline`" in text
