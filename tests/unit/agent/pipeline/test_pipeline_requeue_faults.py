"""A segment is requeued into `cdc_raw`: each file operation fails, or the process is killed there.

The whole segment is always in one of both places, and no loss is recorded. The request remains
pending until served, and the agent reads the segment once the cause is gone.
"""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agent.quarantine.entries import discard, request_retry
from tests.support.pipeline.crash_injector import Killed, failing
from tests.support.pipeline.fakes import Log
from tests.support.pipeline.harness import MakeHarness, PipelineHarness

_OPERATIONS = ("unlink", "replace", "link", "fsync", "utime", "chmod")
_MOST_OPERATIONS = 60


@dataclass
class Injector:
    """Fail one file operation by its number; a killed process does no further operation."""

    fails_at: int
    error: int | None
    """None: the process is killed there."""
    has_links: bool
    """False: `cdc_raw` is another file system."""
    is_after: bool = False
    """The process is killed after the operation."""
    done: int = 0
    is_dead: bool = False
    names: list[str] = field(default_factory=list)

    def operate(
        self, name: str, operation: Callable[..., Any], *arguments: Any, **more: Any
    ) -> Any:
        if self.is_dead:
            raise Killed
        if name == "link" and not self.has_links:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), *arguments[:1])
        self.done += 1
        self.names.append(name)
        if self.done != self.fails_at:
            return operation(*arguments, **more)
        if self.error is not None:
            raise OSError(self.error, os.strerror(self.error), str(arguments[0]))
        self.is_dead = True
        if self.is_after:
            operation(*arguments, **more)
        raise Killed

    @contextmanager
    def working(self, patch: pytest.MonkeyPatch) -> Iterator[None]:
        with patch.context() as inside:
            for name in _OPERATIONS:
                inside.setattr(os, name, self._wrapped(name, getattr(os, name)))
            yield

    def _wrapped(self, name: str, operation: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **more: Any) -> Any:
            return self.operate(name, operation, *arguments, **more)

        return wrapped


def vanished(harness: PipelineHarness) -> float | None:
    registry = harness.metrics.delivery.registry
    return registry.get_sample_value("cdc_quarantined_total", {"reason": "vanished"})


def quarantined_log(harness: PipelineHarness) -> Log:
    """Quarantine a damaged segment that a newer release can read."""
    log = harness.raw.segment(1, 2).add(1, is_damaged=True).add(1)
    harness.raw.index(log, "1048576\nCOMPLETED")
    (harness.raw.directory / log.name.log).write_bytes(b"x" * 3000)
    harness.settle()
    assert log.name.log in harness.quarantined()
    log.records = [type(r)(r.start, r.end, r.table, r.events) for r in log.records]
    request_retry(harness.quarantine.directory, [log.name])
    harness.collect()
    harness.delivered.clear()
    return log


def is_whole(directory: Path, log: Log) -> bool:
    path = directory / log.name.log
    return path.exists() and path.stat().st_size == 3000


@pytest.mark.parametrize(
    ("error", "is_after", "has_links"),
    [
        pytest.param(errno.ENOSPC, False, False, id="full-other"),
        pytest.param(None, False, True, id="killed-before-same"),
        pytest.param(None, True, False, id="killed-after-other"),
        pytest.param(errno.EIO, False, True, id="failing-same", marks=pytest.mark.slow),
        pytest.param(errno.EROFS, False, False, id="read-only-other", marks=pytest.mark.slow),
        pytest.param(None, False, False, id="killed-before-other", marks=pytest.mark.slow),
        pytest.param(None, True, True, id="killed-after-same", marks=pytest.mark.slow),
    ],
)
def test_requeue_survives_failure_of_every_file_operation(
    make_harness: MakeHarness,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    error: int | None,
    is_after: bool,
    has_links: bool,
) -> None:
    for fails_at in range(1, _MOST_OPERATIONS):
        (tmp_path / str(fails_at - 1)).mkdir(exist_ok=True)
        harness = make_harness()
        log = quarantined_log(harness)
        injector = Injector(fails_at, error, has_links, is_after)
        with injector.working(monkeypatch):
            harness.clock.advance(5)
            try:
                harness.settle()
            except Killed:
                harness.kill()
        assert (
            is_whole(harness.raw.directory, log)
            or is_whole(harness.relocation / "error", log)
            or is_whole(harness.relocation / "archive", log)
        ), injector.names
        for _ in range(3):
            harness.pass_time(6)
        assert sorted(set(harness.collect())) == sorted(log.ids()), injector.names
        assert harness.quarantined() == set(), injector.names
        assert harness.archived() == {log.name.log, log.name.idx}, injector.names
        assert harness.raw.names() == set(), injector.names
        assert (harness.leave_error, vanished(harness)) == ("", 0)
        if injector.done < fails_at:
            assert fails_at > 8, "there are operations to fail"
            return
    raise AssertionError("there are more operations than are tried")


def test_segment_with_remaining_damage_is_quarantined_again(harness: PipelineHarness) -> None:
    log = quarantined_log(harness)
    log.add(1, is_damaged=True)
    harness.pass_time(5)
    assert harness.quarantined() == {log.name.log, log.name.idx, f"{log.name.log}.reason.json"}
    reads = log.reads
    harness.pass_time(60)
    assert log.reads == reads, "asked for once, read once"


def test_full_disk_blocks_requeue_until_space_is_free(
    harness: PipelineHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Meanwhile `cdc_raw` contains no part of the segment, and no loss is recorded."""
    log = quarantined_log(harness)
    with monkeypatch.context() as full:
        full.setattr(os, "link", failing(errno.EXDEV))
        full.setattr(os, "pwrite", failing(errno.ENOSPC))
        for _ in range(3):
            harness.pass_time(5)
            assert "No space left on device" in harness.leave_error
            assert (harness.raw.names(), harness.phases) == (set(), [])
            # The quarantine reason remains on record.
            assert f"{log.name.log}.reason.json" in harness.quarantined()
    harness.pass_time(5)
    assert (harness.leave_error, harness.collect()) == ("", log.ids())


def test_requeue_error_ends_when_segment_is_discarded(
    harness: PipelineHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = quarantined_log(harness)
    with monkeypatch.context() as full:
        full.setattr(os, "link", failing(errno.EIO))
        harness.pass_time(5)
    assert "Input/output error" in harness.leave_error
    discard(harness.quarantine.directory, harness.raw.directory, log.name, lambda *_: None)
    harness.pass_time(5)
    assert harness.leave_error == ""


def test_segment_with_only_index_in_cdc_raw_is_requeued(harness: PipelineHarness) -> None:
    log = quarantined_log(harness)
    (harness.relocation / "error" / log.name.idx).rename(harness.raw.directory / log.name.idx)
    (harness.relocation / "error" / f"{log.name.log}.reason.json").unlink()
    harness.kill()
    harness.settle()
    assert (harness.collect(), harness.archived()) == (log.ids(), {log.name.log, log.name.idx})
    assert harness.quarantined() == set()


def test_partial_copy_of_killed_agent_is_removed(harness: PipelineHarness) -> None:
    left = harness.raw.directory / ".CommitLog-7-9.log.tmp"
    left.write_bytes(b"half")
    harness.kill()
    harness.settle()
    assert not left.exists()


def test_requeue_requests_precede_first_scan(
    harness: PipelineHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scan could mistake a partly requeued segment for a vanished one."""
    log = quarantined_log(harness)
    (harness.relocation / "error" / log.name.idx).rename(harness.raw.directory / log.name.idx)
    harness.kill()
    with monkeypatch.context() as unreadable:
        unreadable.setattr(type(harness.quarantine), "retry_requests", failing(errno.EACCES))
        harness.settle()
        assert harness.phases == []
        assert "Permission denied" in harness.leave_error
    harness.pass_time(5)
    assert (harness.collect(), harness.leave_error) == (log.ids(), "")
