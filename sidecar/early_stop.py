"""SIGTERM before there is anything that could be stopped: while modules are imported.

It is noted, and answered once it is known what the process was to do: a service that has not begun
ends with exit code 0, everything else by the signal. Imports nothing that takes time.
"""

import signal
from types import FrameType


class _Early:
    """What a signal handler leaves for the rest of the process."""

    is_held = False
    is_requested = False


def _note(number: int, frame: FrameType | None) -> None:
    _Early.is_requested = True
    # A second one is not noted: it ends the process at once.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def hold() -> None:
    """From now on SIGTERM is only noted."""
    _Early.is_held = True
    signal.signal(signal.SIGTERM, _note)


def release() -> None:
    """SIGTERM has its own action again; one that was noted takes it. Nothing without `hold`."""
    if _Early.is_held:
        _Early.is_held = False
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if _Early.is_requested:
            signal.raise_signal(signal.SIGTERM)


def is_requested() -> bool:
    """True when a SIGTERM was noted."""
    return _Early.is_requested
