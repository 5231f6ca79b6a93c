"""Errors of a read that come from the environment, and their messages.

The parser reports damaged bytes as gaps, never as an error of the operating system. So an error
with a number (`errno`) is about permissions, the disk, the mount or limits of the process. It ends
with its cause, so the agent retries such a read without end, and reports it.
"""

import errno
import os
from pathlib import Path

from sidecar.files.access import access_denial
from sidecar.files.os_errors import REMEDIES


def is_environmental(error: BaseException) -> bool:
    """True when the same read succeeds after a change outside of the segment."""
    return isinstance(error, MemoryError) or (isinstance(error, OSError) and bool(error.errno))


def read_error_message(path: Path, error: BaseException) -> str:
    """The path, the cause and the remedy; for EACCES and EPERM with owner, mode and uid."""
    if not isinstance(error, OSError) or not error.errno:
        reason = "out of memory" if isinstance(error, MemoryError) else str(error)
        return f"{path.name} cannot be read: {reason}."
    reason = f"{os.strerror(error.errno)} ({errno.errorcode.get(error.errno, error.errno)})"
    remedy = REMEDIES.get(error.errno, "")
    if error.errno in (errno.EACCES, errno.EPERM):
        found = access_denial(path)
        remedy = found.message if found is not None else ""
    message = f"{path.name} cannot be read: {reason}. {remedy}"
    return f"{message.rstrip()} Reading is retried every second."
