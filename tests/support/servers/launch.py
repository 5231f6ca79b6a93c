"""Become a command that dies with its parent: `python launch.py PARENT_PID PROGRAM ARGUMENT…`.

Linux sends the signal when the *thread* that forked ends, so the harness forks from one thread that
lives as long as the process.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    parent_pid = int(sys.argv[1])
    if os.getppid() != parent_pid:
        sys.exit("the parent ended before the command began")
    os.execv(sys.argv[2], sys.argv[2:])


main()
