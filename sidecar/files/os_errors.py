"""Remedies for errors of the operating system that no property causes. Pure."""

import errno
import os

_RAISE_MEMORY = "Free memory, or raise the limit: `MemoryMax=`, the pod's `limits.memory`."
REMEDIES = {
    # Before EMFILE, whose text is a part of this one's.
    errno.ENFILE: "The machine has too many open files: raise `fs.file-max` with sysctl.",
    errno.EMFILE: "The agent has too many open files: raise `LimitNOFILE=` or `ulimit -n`.",
    errno.ENOMEM: _RAISE_MEMORY,
    errno.ENOSPC: "Free space on that file system; `df -h` and `df -i` show what is short.",
    errno.EDQUOT: "Free space within the quota of the agent's user, or raise the quota.",
    errno.EROFS: "The file system is read-only, perhaps after errors: look at the kernel's log "
    "(`dmesg`), and mount it writable.",
    errno.EIO: "The disk fails: look at the kernel's log (`dmesg`).",
    errno.ENODATA: "The disk fails: look at the kernel's log (`dmesg`).",
    errno.ESTALE: "The file system was mounted or exported anew: mount it again.",
    errno.ENOTCONN: "The file system is not connected: mount it again.",
    errno.ELOOP: "Remove the symbolic links that lead in a circle.",
}

_SHOWN = (errno.ENFILE, errno.EMFILE, errno.ENOMEM, errno.EDQUOT, errno.EROFS, errno.ESTALE)


def remedy_of(message: str, otherwise: str) -> str:
    """The remedy for a message that has the text of an error; `otherwise` is that of its source,
    which knows directories and rights, and empty where nothing is wrong."""
    if not otherwise:
        return ""
    for number in _SHOWN:
        if os.strerror(number) in message:
            return REMEDIES[number]
    if os.strerror(errno.ENOSPC) in message and "Free space" not in otherwise:
        return REMEDIES[errno.ENOSPC]
    return otherwise
