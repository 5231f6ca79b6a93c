"""A segment whose file cannot be read."""

import errno
import os

import pytest

from tests.support.pipeline.harness import MakeHarness, PipelineHarness


@pytest.mark.parametrize(
    "number", [errno.EIO, errno.EACCES, errno.EPERM, errno.ESTALE, errno.EMFILE, errno.ENOMEM]
)
def test_environment_error_blocks_without_timeout(make_harness: MakeHarness, number: int) -> None:
    """The agent abandons, completes or quarantines no segment, and the event order remains."""
    harness = make_harness(blocked_timeout_ms=10_000)
    log, next_log = harness.raw.completed(1, 2), harness.raw.completed(2, 2)
    log.error = OSError(number, os.strerror(number))
    harness.settle()
    for _ in range(5):
        harness.pass_time(3600)
        assert harness.phases == ["blocked", "final"]
        assert harness.view.blocked is not None
        assert harness.view.blocked.cause == "environment"
        assert os.strerror(number) in harness.view.blocked.message
    assert log.reads > 5
    assert 0 < harness.pipeline.loop.pause_s <= 1, "waiting does not keep a processor busy"
    harness.kill()
    harness.settle()
    assert harness.phases == ["blocked", "final"]
    assert harness.quarantined() == harness.archived() == set()
    log.error = None
    harness.pass_time(1)
    assert (harness.collect(), harness.quarantined()) == (log.ids() + next_log.ids(), set())
    assert harness.view.blocked is None


def test_read_error_without_errno_is_abandoned(make_harness: MakeHarness) -> None:
    """The content of the file may cause the error."""
    harness = make_harness(blocked_timeout_ms=10_000)
    log, fine = harness.raw.completed(1, 2), harness.raw.completed(2, 2)
    log.error = OSError("unexpected end of file")
    harness.settle()
    assert harness.phases == ["blocked", "final"]
    harness.pass_time(3)
    assert log.reads > 1
    for _ in range(8):
        harness.pass_time(1)
    assert harness.collect() == fine.ids()
    assert log.name.log in harness.quarantined()
    assert "unexpected end of file" in harness.ranges(1)[0]["cause"]


def test_restored_permission_resumes_reading_without_loss(
    harness: PipelineHarness, caplog: pytest.LogCaptureFixture
) -> None:
    """The agent logs the block once, not at every attempt."""
    caplog.set_level("INFO")
    log = harness.raw.completed(1, 2)
    harness.raw.open_error = PermissionError(13, "Permission denied", log.name.log)
    harness.settle()
    for _ in range(30):
        harness.pass_time(1)
    assert harness.phases == ["blocked"]
    assert harness.view.blocked is not None
    assert harness.view.blocked.message.startswith(
        f"{log.name.log} cannot be read: Permission denied (EACCES)."
    )
    harness.raw.open_error = None
    harness.pass_time(1)
    assert (harness.collect(), harness.quarantined()) == (log.ids(), set())
    assert caplog.messages.count("a segment is blocked") == 1
    assert caplog.messages.count("reading continues") == 1
