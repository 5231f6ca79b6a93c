"""Settings of the interpreter while the loop delivers events.

Every event makes a few short-lived tuples and lists without cycles. With the default thresholds
Python searches for cycles several times per thousand events and finds none. That costs 1.5 to
2 µs of CPU per event, of 13 to 15 in all, on a shared two-core machine.

The parser works without the interpreter lock (GIL), but a read begins and ends with it. The loop's
thread holds the lock for milliseconds, and by default a waiting thread requests it after 5 ms. A
read of 1 to 2 ms would then take 10 ms, longer than sending its events.
"""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_YOUNG_OBJECTS = 100_000
_SWITCH_INTERVAL_S = 0.0005


@contextmanager
def tune_interpreter() -> Iterator[None]:
    """Fewer garbage collections, and a shorter switch interval."""
    thresholds, interval_s = gc.get_threshold(), sys.getswitchinterval()
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS, *thresholds[1:])
    sys.setswitchinterval(_SWITCH_INTERVAL_S)
    try:
        yield
    finally:
        sys.setswitchinterval(interval_s)
        gc.set_threshold(*thresholds)
        gc.unfreeze()
