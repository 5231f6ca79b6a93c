"""Fewer garbage collections while the loop delivers events.

Every event makes a few short-lived tuples and lists without cycles. With the default thresholds
Python searches for cycles several times per thousand events and finds none. That costs 1.5 to
2 µs of CPU per event, of 13 to 15 in all, on a shared two-core machine.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_YOUNG_OBJECTS = 100_000


@contextmanager
def tune_gc() -> Iterator[None]:
    """Raises the threshold and freezes the objects that exist already."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
