"""Defer SIGTERM while the process still imports its modules.

The signal is recorded, and acted on once the command is known: a service that has not started exits
with code 0; any other command ends by the signal. Imports only fast modules.
"""

import signal
from types import FrameType


class _Deferral:
    is_active = False
    is_pending = False


def _record(number: int, frame: FrameType | None) -> None:
    _Deferral.is_pending = True
    # A second SIGTERM ends the process at once.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def defer() -> None:
    """From now on SIGTERM is only recorded."""
    _Deferral.is_active = True
    signal.signal(signal.SIGTERM, _record)


def release() -> None:
    """Restore the default action of SIGTERM, which a recorded one takes now. No effect without
    `defer`."""
    if _Deferral.is_active:
        _Deferral.is_active = False
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if _Deferral.is_pending:
            signal.raise_signal(signal.SIGTERM)


def is_pending() -> bool:
    return _Deferral.is_pending
