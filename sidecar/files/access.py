"""Explains unusable files: which part of a path denies access, who owns it and how to fix it. Also
provides remedies for operating-system errors that no property causes."""

import errno
import grp
import os
import pwd
import shlex
import stat
from dataclasses import dataclass
from pathlib import Path

_RAISE_MEMORY = "Free memory, or raise the limit: `MemoryMax=`, the pod's `limits.memory`."
REMEDIES = {
    # Before EMFILE, because this error's text contains the text of EMFILE.
    errno.ENFILE: "The machine has too many open files: raise `fs.file-max` with sysctl.",
    errno.EMFILE: "The agent has too many open files: raise `LimitNOFILE=` or `ulimit -n`.",
    errno.ENOMEM: _RAISE_MEMORY,
    errno.ENOSPC: "Free space on that file system; `df -h` and `df -i` show what is used up.",
    errno.EDQUOT: "Free space within the quota of the agent's user, or raise the quota.",
    errno.EROFS: "The file system is read-only, perhaps after errors: check the kernel log "
    "(`dmesg`), and mount it writable.",
    errno.EIO: "The disk is failing: check the kernel log (`dmesg`).",
    errno.ENODATA: "The disk is failing: check the kernel log (`dmesg`).",
    errno.ESTALE: "The file system was remounted or exported again: mount it again.",
    errno.ENOTCONN: "The file system is not connected: mount it again.",
    errno.ELOOP: "Remove the symbolic links that form a loop.",
}

_SHOWN = (errno.ENFILE, errno.EMFILE, errno.ENOMEM, errno.EDQUOT, errno.EROFS, errno.ESTALE)


def remedy_of(message: str, otherwise: str) -> str:
    """Return the remedy for an error whose text the message contains, else `otherwise`, the
    remedy of the message's source. Empty if `otherwise` is empty, because nothing is wrong."""
    if not otherwise:
        return ""
    for number in _SHOWN:
        if os.strerror(number) in message:
            return REMEDIES[number]
    if os.strerror(errno.ENOSPC) in message and "Free space" not in otherwise:
        return REMEDIES[errno.ENOSPC]
    return otherwise


@dataclass(frozen=True, slots=True)
class AccessDenial:
    """A file or directory that denies access to a process, with owner and mode."""

    path: Path
    is_directory: bool
    owner: str
    group: str
    mode: int
    """Permission bits."""
    uid: int
    """Effective user id of this process."""
    gid: int

    @property
    def message(self) -> str:
        kind, right = ("directory", "rx") if self.is_directory else ("file", "r")
        path, quoted = self.path, shlex.quote(str(self.path))
        return (
            f"The {kind} {path} has owner {self.owner}, group {self.group} and mode "
            f"{self.mode:04o}; this process has uid {self.uid} and gid {self.gid}. Run as root: "
            f"`chgrp {self.gid} {quoted} && chmod g+{right} {quoted}`, or run the agent as "
            f"{self.owner}."
        )


def access_denial(path: Path) -> AccessDenial | None:
    """Find what prevents this process from reading `path`: the first directory that it cannot
    search, or the path itself. None if the path is readable or does not exist."""
    for part in (*reversed(path.absolute().parents), path.absolute()):
        try:
            found = part.stat()
        except OSError:
            return None
        is_directory = stat.S_ISDIR(found.st_mode)
        is_last = part == path.absolute()
        wanted = (os.R_OK if is_last else 0) | (os.X_OK if is_directory else 0)
        if not os.access(part, wanted, effective_ids=True):
            return AccessDenial(
                part,
                is_directory,
                user_text(found.st_uid),
                group_text(found.st_gid),
                stat.S_IMODE(found.st_mode),
                os.geteuid(),
                os.getegid(),
            )
    return None


def user_text(uid: int) -> str:
    try:
        return f"{pwd.getpwuid(uid).pw_name} (uid {uid})"
    except KeyError:
        return f"uid {uid}"


def group_text(gid: int) -> str:
    try:
        return f"{grp.getgrgid(gid).gr_name} (gid {gid})"
    except KeyError:
        return f"gid {gid}"
