"""Runs a custom transfer class in a worker process.

    cdc_raw ── linked and unlinked ──► <relocation directory>/upload ── worker: Class.transfer

The class cannot block the agent: it runs in a separate interpreter, and a stop kills its process.
"""

import inspect
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agent.metrics import AgentMetrics
from agent.transfer.segment_transfer import (
    FinishedSegment,
    SegmentError,
    SegmentTransfer,
    TransferSettings,
)
from agent.transfer.transfer import Backlog
from agent.transfer.upload_queue import UploadQueue, UploadSettings
from sidecar.errors import ConfigError
from sidecar.files.regular import regular_size_bytes
from sidecar.properties.named_object import load_named
from sidecar.store.base import StoreError
from sidecar.store.subprocess_store import SubprocessStore

_PROPERTY = "commit.log.transfer.class"


def load_class(name: str) -> Callable[[TransferSettings], SegmentTransfer]:
    """Loads the class `module:Class`. Raises ConfigError."""
    found = load_named(_PROPERTY, name, "class", inspect.isclass)
    _require_signature(name, found, "__init__", "settings", TransferSettings(""))
    if not callable(getattr(found, "transfer", None)):
        raise ConfigError(
            f"`{_PROPERTY}={name}`: the class has no method transfer. Add "
            "`def transfer(self, segment)`."
        )
    segment = FinishedSegment(Path("CommitLog-7-1.log"), None, 0)
    _require_signature(name, found.transfer, "transfer", "segment", None, segment)
    made: Callable[[TransferSettings], SegmentTransfer] = found
    return made


def _require_signature(
    name: str, function: Callable[..., Any], method: str, parameter: str, *arguments: object
) -> None:
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError as error:
        raise ConfigError(
            f"`{_PROPERTY}={name}`: {method} cannot be called with one argument ({error}). Declare "
            f"`def {method}(self, {parameter})`."
        ) from error
    except ValueError:
        # Methods of extension modules may hide their parameters.
        return


@dataclass(slots=True)
class OwnClassStore:
    """The object that is pickled to the worker process, where it instantiates the class."""

    address: str
    """The class, as `module:Class`."""
    settings: TransferSettings
    _made: Any = None

    def transfer(self, log: Path, idx: Path | None, size_bytes: int) -> None:
        """Calls the class. Raises StoreError for every failure."""
        try:
            if self._made is None:
                self._made = load_class(self.address)(self.settings)
            self._made.transfer(FinishedSegment(log, idx, size_bytes))
        except ConfigError as error:
            raise StoreError(str(error)) from error
        except (Exception, SystemExit) as error:
            lines = str(error).strip().splitlines()
            reason = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
            raise StoreError(
                f"{self.address} failed for {log.name}: {reason.rstrip('.')}. The agent keeps the "
                "segment and repeats the call.",
                is_segment_specific=isinstance(error, SegmentError),
            ) from error


class OwnClassTransfer(UploadQueue):
    """The queue of segments for the class. A hanging call is reported, but never cancelled while
    the agent runs, because the class may be slow."""

    def __init__(
        self,
        name: str,
        settings: TransferSettings,
        queue: UploadSettings,
        metrics: AgentMetrics,
        *,
        report_after_s: float,
    ) -> None:
        """Raises ConfigError for an unusable class."""
        load_class(name)
        # Read-only mappings cannot be pickled.
        settings = replace(settings, options=dict(settings.options))
        self._worker = SubprocessStore(OwnClassStore(name, settings))
        super().__init__(self._worker, queue, metrics)
        self._report_after_s = report_after_s
        self._running: tuple[str, float] | None = None

    @property
    def backlog(self) -> Backlog:
        backlog, running = super().backlog, self._running
        if running is None:
            return backlog
        log, since_s = running
        running_s = time.monotonic() - since_s
        if running_s <= self._report_after_s:
            return backlog
        message = (
            f"{self._worker.address} has not returned for {running_s:.0f} s for {log}. Find out "
            "why it hangs; restart the agent to repeat the call."
        )
        self._metrics.transfer_up.set(0)
        return replace(backlog, error=" ".join(part for part in (backlog.error, message) if part))

    def _put(self, log: Path, idx: Path) -> tuple[int, Sequence[Path]]:
        sizes = {file: regular_size_bytes(file) for file in (log, idx)}
        files = [file for file, size in sizes.items() if size is not None]
        if log not in files:
            # An index without its segment need not be transferred.
            return 0, files
        size_bytes = sum(size or 0 for size in sizes.values())
        self._running = (log.name, time.monotonic())
        try:
            self._worker.ask("transfer", log, idx if idx in files else None, size_bytes)
        finally:
            self._running = None
        return size_bytes, files
