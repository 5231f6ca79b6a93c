"""A shorter switch interval of the interpreter lock (GIL) while the loop delivers events.

The parser works without the lock, but a read begins and ends with it. The loop's thread holds the
lock for milliseconds, and by default a waiting thread requests it after 5 ms. A read of 1 to 2 ms
would then take 10 ms, longer than sending its events.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

_INTERVAL_S = 0.0005


@contextmanager
def tune_gil() -> Iterator[None]:
    """Waiting threads request the lock after half a millisecond."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(_INTERVAL_S)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
