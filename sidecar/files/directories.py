"""Directories that a configuration names: whether they can be used, and are apart."""

import grp
import os
import pwd
import shlex
import stat
from collections.abc import Iterable
from pathlib import Path


def directory_problems(wanted: Iterable[tuple[str, Path]]) -> list[str]:
    """A sentence for each directory that is missing or cannot be used; `wanted` are properties and
    what they name."""
    return [problem for name, path in wanted if (problem := _problem(name, path))]


def overlap_problems(
    reserved: tuple[str, Path], others: Iterable[tuple[str, Path]], why: str
) -> list[str]:
    """A sentence for each of `others` that is the `reserved` directory or inside it, by whatever
    path: symbolic links, `..` and bind mounts lead to the same directory.

    `why` says what would happen.
    """
    name, directory = reserved
    return [
        f"{other}: {path} is {_relation(path, directory)} {directory} (`{name}`): {why}. Name a "
        "directory outside it."
        for other, path in others
        if is_inside(path, directory)
    ]


def is_inside(path: Path, directory: Path) -> bool:
    """Whether a path, which need not exist, leads into a directory or is it."""
    real, target = Path(os.path.realpath(path)), Path(os.path.realpath(directory))
    return any(place == target or _is_same(place, target) for place in (real, *real.parents))


def _relation(path: Path, directory: Path) -> str:
    real, target = os.path.realpath(path), os.path.realpath(directory)
    return "the same directory as" if real == target or _is_same(path, directory) else "inside"


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def exposed_directories(wanted: Iterable[tuple[str, Path]]) -> list[str]:
    """A sentence for each directory in which every user may replace files; `wanted` as above. One
    that cannot be looked at is left to `directory_problems`."""
    return [
        f"{name}: every user of this machine can replace files in {path}. Run `chmod o-w {path}`."
        for name, path in wanted
        if _is_exposed(path)
    ]


def _is_exposed(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    if _is_pod_volume(path):
        return False
    # In a sticky directory only the owner of a file can replace it.
    return bool(mode & stat.S_IWOTH) and not mode & stat.S_ISVTX


def _is_pod_volume(path: Path) -> bool:
    """Kubernetes gives an emptyDir the mode 0777; only containers of the pod reach it."""
    return "KUBERNETES_SERVICE_HOST" in os.environ and path.is_mount()


def _problem(name: str, path: Path) -> str | None:
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        if path.is_symlink():
            return (
                f"{name}: {path} is a symbolic link to {path.readlink()}, which does not exist. "
                "Create that directory or correct the link."
            )
        return f"{name}: the directory {path} does not exist."
    except OSError as error:
        rights = _rights(path) if isinstance(error, PermissionError) else ""
        return (
            f"{name}: the directory {path} cannot be looked at: {error.strerror}. {rights}".rstrip()
        )
    if not stat.S_ISDIR(status.st_mode):
        return f"{name}: {path} is no directory."
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        if os.statvfs(path).f_flag & os.ST_RDONLY:
            return (
                f"{name}: the directory {path} is on a file system that is mounted read-only. "
                "Mount it read-write."
            )
        return f"{name}: this user may not read and write the directory {path}. {_rights(path)}"
    return None


def _rights(path: Path) -> str:
    """Who the process is, whose the nearest directory is that can be seen, and the command."""
    uid, gid = os.geteuid(), os.getegid()
    process = f"The process is {_user(uid)} in {_group(gid)}"
    for place in (path, *path.parents):
        try:
            status = place.stat()
        except OSError:
            continue
        if place == path or not os.access(place, os.X_OK):
            mode = f"{stat.S_IMODE(status.st_mode):04o}"
            rights = "rwx" if place == path else "x"
            return (
                f"{process}; {place} belongs to {_user(status.st_uid)} and {_group(status.st_gid)} "
                f"with mode {mode}. Run: setfacl -m u:{uid}:{rights} {shlex.quote(str(place))}"
            )
    return f"{process}."


def _user(uid: int) -> str:
    try:
        return f"user {pwd.getpwuid(uid).pw_name} (uid {uid})"
    except KeyError:
        return f"uid {uid}"


def _group(gid: int) -> str:
    try:
        return f"group {grp.getgrgid(gid).gr_name} (gid {gid})"
    except KeyError:
        return f"gid {gid}"
