"""Freed memory that the process keeps for the next batch.

A batch has a few megabytes. By default glibc returns such memory to the kernel, which fills each
page with zeros for the next batch. Reading and encoding a MongoDB event took 4.2 µs of CPU with
the default and 2.7 µs without (20,000 events in ten replies, 1200 page faults per reply instead
of 130, on a busy machine).
"""

import ctypes

# Numbers of glibc's malloc.h.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_LARGEST_KEPT_BYTES = 8 << 20
_MOST_KEPT_BYTES = 12 << 20


def tune_malloc() -> None:
    """Applies for the rest of the process; without glibc it does nothing."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _LARGEST_KEPT_BYTES)
        mallopt(_TRIM_THRESHOLD, _MOST_KEPT_BYTES)
