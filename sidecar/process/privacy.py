"""Protects the memory and the imports of the process from other users.

* Memory: a core file or a debugger of the same user would expose passwords and rows. The kernel
  writes no core file of a process that is not dumpable, regardless of `ulimit -c`.
* Modules: `python -m` and an empty entry in PYTHONPATH put the working directory first on the
  import path. If other users can write to that directory, their `json.py` would run as the agent.
"""

import ctypes
import os
import sys
from collections.abc import Sequence
from pathlib import Path

_PR_SET_DUMPABLE = 4


def forbid_dumps() -> bool:
    """Disable core files, and debuggers except root's. Return whether the kernel accepted it."""
    # `None` selects the C library, which the process already uses.
    return bool(ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) == 0)


def forget_working_directory() -> None:
    """Remove the working directory from the import path.

    It stays if PYTHONPATH contains its absolute path, or if the agent itself was imported from it,
    as in an editable install.
    """
    named = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    try:
        here = str(Path.cwd())
    except OSError:
        here = ""
    sys.path[:] = safe_path(sys.path, here, [*named, str(Path(__file__).parents[2])])


def safe_path(path: Sequence[str], here: str, trusted: Sequence[str]) -> list[str]:
    """Remove the directory `here` from `path`, unless `trusted` contains its absolute path."""
    if here in (part.rstrip("/") for part in trusted if part.startswith("/")):
        return [part for part in path if part]
    return [part for part in path if part not in ("", ".", here)]
