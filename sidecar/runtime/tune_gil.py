"""How soon a thread that waits for the interpreter gets it while events are on their way.

The parser works without the interpreter, but a read begins and ends in it. The pipeline's thread
keeps it between two calls that let go of it, for milliseconds, and by default a thread that waits
asks for it after 5 ms: a read of 1 to 2 ms would take 10, longer than its events take to be sent.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

_INTERVAL_S = 0.0005


@contextmanager
def tune_gil() -> Iterator[None]:
    """Lets threads ask for the interpreter after half a millisecond."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(_INTERVAL_S)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
