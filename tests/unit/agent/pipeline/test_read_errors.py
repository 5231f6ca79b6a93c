"""A segment whose file cannot be read."""

import errno
import os
from collections.abc import Callable

import pytest

from tests.support.pipeline_harness import Rig
from tests.support.quarantine_reasons import reason_of

MakeRig = Callable[..., Rig]


@pytest.mark.parametrize(
    "number", [errno.EIO, errno.EACCES, errno.EPERM, errno.ESTALE, errno.EMFILE, errno.ENOMEM]
)
def test_an_error_of_the_environment_is_waited_for_without_end(
    make_rig: MakeRig, number: int
) -> None:
    """Nothing is given up, completed or quarantined, and no message is lost; the order stays."""
    rig = make_rig(blocked_timeout_ms=10_000)
    log, next_log = rig.raw.completed(1, 2), rig.raw.completed(2, 2)
    log.error = OSError(number, os.strerror(number))
    rig.settle()
    for _ in range(5):
        rig.pass_time(3600)
        assert rig.phases == ["blocked", "final"]
        assert rig.view.blocked is not None
        assert rig.view.blocked.cause == "environment"
        assert os.strerror(number) in rig.view.blocked.message
    assert log.reads > 5
    assert 0 < rig.pipeline.loop.pause_s <= 1, "waiting does not keep a processor busy"
    rig.kill()
    rig.settle()
    assert rig.phases == ["blocked", "final"]
    assert rig.quarantined() == rig.archived() == set()
    log.error = None
    rig.pass_time(1)
    assert rig.collect() == log.ids() + next_log.ids()
    assert rig.quarantined() == set()
    assert rig.view.blocked is None


def test_a_read_that_fails_without_a_number_is_given_up_in_the_end(make_rig: MakeRig) -> None:
    """It may be the content of the file that fails."""
    rig = make_rig(blocked_timeout_ms=10_000)
    log, fine = rig.raw.completed(1, 2), rig.raw.completed(2, 2)
    log.error = OSError("unexpected end of file")
    rig.settle()
    assert rig.phases == ["blocked", "final"]
    rig.pass_time(3)
    assert log.reads > 1
    for _ in range(8):
        rig.pass_time(1)
    assert rig.collect() == fine.ids()
    assert log.name.log in rig.quarantined()
    assert "unexpected end of file" in reason_of(rig, 1)["ranges"][0]["cause"]


def test_a_permission_that_comes_back_in_time_loses_nothing(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    """And it is said once, not at every attempt."""
    caplog.set_level("INFO")
    log = rig.raw.completed(1, 2)
    rig.raw.open_error = PermissionError(13, "Permission denied", log.name.log)
    rig.settle()
    for _ in range(30):
        rig.pass_time(1)
    assert rig.phases == ["blocked"]
    assert rig.view.blocked is not None
    assert rig.view.blocked.message.startswith(
        f"{log.name.log} cannot be read: Permission denied (EACCES)."
    )
    rig.raw.open_error = None
    rig.pass_time(1)
    assert rig.collect() == log.ids()
    assert rig.quarantined() == set()
    assert caplog.messages.count("a segment is blocked") == 1
    assert caplog.messages.count("reading continues") == 1
