"""Settings of the C library and of the interpreter while an agent delivers events.

A batch takes a few megabytes. By default, glibc returns such memory to the kernel, which zeroes
each page for the next batch. Reading and encoding a MongoDB event took 4.2 µs of CPU with
the default and 2.7 µs without (20,000 events in ten replies, 1200 page faults per reply instead
of 130, on a busy machine).

Every event creates a few short-lived tuples and lists without cycles. With the default thresholds,
Python searches for cycles several times per thousand events and finds none. That costs 1.5 to
2 µs of CPU per event, out of 13 to 15 µs in total, on a shared two-core machine.

The parser works without the interpreter lock (GIL), but needs it at the begin and end. The loop's
thread holds the lock for milliseconds, and by default a waiting thread requests it after 5 ms. A
read of 1 to 2 ms would then take 10 ms, longer than sending its events.
"""

import ctypes
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# Numbers of glibc's malloc.h.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_LARGEST_KEPT_BYTES = 8 << 20
_MOST_KEPT_BYTES = 12 << 20


def tune_malloc() -> None:
    """Make the process keep freed memory for the next batch. No effect without glibc."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _LARGEST_KEPT_BYTES)
        mallopt(_TRIM_THRESHOLD, _MOST_KEPT_BYTES)


_YOUNG_OBJECTS = 100_000
_SWITCH_INTERVAL_S = 0.0005


@contextmanager
def tune_interpreter() -> Iterator[None]:
    """Collect garbage less often, and switch threads sooner."""
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
