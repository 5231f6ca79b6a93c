"""Defer SIGTERM while the process still imports its modules.

The signal is recorded, and handled once the command is known: a service that has not started exits
with code 0; the signal terminates any other command. Imports only fast modules.
"""

import signal
from types import FrameType


class _Deferral:
    is_active = False
    is_pending = False


def _record(number: int, frame: FrameType | None) -> None:
    _Deferral.is_pending = True
    # A second SIGTERM kills the process immediately.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def defer() -> None:
    """Only record SIGTERM from now on."""
    _Deferral.is_active = True
    signal.signal(signal.SIGTERM, _record)


def release() -> None:
    """Restore the default action of SIGTERM, and raise a recorded SIGTERM again. No effect without
    `defer`."""
    if _Deferral.is_active:
        _Deferral.is_active = False
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if _Deferral.is_pending:
            signal.raise_signal(signal.SIGTERM)


def is_pending() -> bool:
    return _Deferral.is_pending
