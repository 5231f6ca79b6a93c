"""Starts an agent and measures holds of its interpreter: `held.py FILE agent|mongo_agent …`.

A thread repeatedly sleeps for five milliseconds. Between two of its turns the process uses more
processor time only while another thread holds the interpreter, or works without it. `FILE` gets the
longest such time in milliseconds since its last line.
"""

import importlib
import sys
import threading
import time
from pathlib import Path

_PAUSE_S = 0.005


def _watch(file: Path) -> None:
    longest_s = 0.0
    before = time.monotonic(), time.process_time()
    written_s = before[0]
    while True:
        time.sleep(_PAUSE_S)
        now = time.monotonic(), time.process_time()
        # The smaller value: other processes delay a tick without using this process's time.
        longest_s = max(longest_s, min(now[0] - before[0] - _PAUSE_S, now[1] - before[1]))
        before = now
        if now[0] - written_s > 0.1:
            with file.open("a") as lines:
                lines.write(f"{1000 * longest_s:.1f}\n")
            longest_s, written_s = 0.0, now[0]


if __name__ == "__main__":
    threading.Thread(target=_watch, args=(Path(sys.argv[1]),), daemon=True).start()
    importlib.import_module(f"{sys.argv[2]}.cli.entry").main(sys.argv[3:])
