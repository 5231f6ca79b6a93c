"""How often Python looks for garbage while events are on their way.

Every event is a handful of tuples and lists for a moment, which die by themselves, so that the
default looks for cycles several times in each thousand events and finds none: 1.5 to 2 µs of CPU an
event, of 13 to 15 in all, on a shared two-core machine.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_YOUNG_OBJECTS = 100_000


@contextmanager
def tune_gc() -> Iterator[None]:
    """Looks seldom, and not at what exists already."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
