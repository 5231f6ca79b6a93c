"""What other users, and files left behind, get to see of a process.

* Memory: a core file, or a debugger of the same user, would show passwords and rows. The kernel
  writes no core file of a process that is not dumpable, whatever `ulimit -c` says.
* Modules: `python -m` and an empty part of PYTHONPATH put the working directory first in the path
  of imports. In a directory that others can write, their `json.py` would run as the agent.
"""

import ctypes
import os
import sys
from collections.abc import Sequence
from pathlib import Path

_PR_SET_DUMPABLE = 4


def forbid_dumps() -> bool:
    """No core files of this process, and no debugger but root's. False where the kernel refuses."""
    # The C library is there: the process runs on it.
    return bool(ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) == 0)


def forget_working_directory() -> None:
    """Imports nothing from the working directory, unless PYTHONPATH names it by its whole path or
    the agent itself was imported from there, as in a checkout that is installed in place."""
    named = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    try:
        here = str(Path.cwd())
    except OSError:
        here = ""
    sys.path[:] = safe_path(sys.path, here, [*named, str(Path(__file__).parents[2])])


def safe_path(path: Sequence[str], here: str, trusted: Sequence[str]) -> list[str]:
    """The parts of `path` without the directory `here`, unless `trusted` has its whole path."""
    if here in (part.rstrip("/") for part in trusted if part.startswith("/")):
        return [part for part in path if part]
    return [part for part in path if part not in ("", ".", here)]
