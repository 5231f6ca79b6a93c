"""Checks of configured directories: usable, separate, and not writable for everybody."""

import os
import shlex
import stat
from collections.abc import Iterable
from pathlib import Path

from sidecar.files.access import group_text, user_text


def directory_problems(wanted: Iterable[tuple[str, Path]]) -> list[str]:
    """A message for each directory that is missing or unusable; `wanted` are pairs of property and
    directory."""
    return [problem for name, path in wanted if (problem := _problem(name, path))]


def overlap_problems(
    reserved: tuple[str, Path], others: Iterable[tuple[str, Path]], why: str
) -> list[str]:
    """A message for each of `others` that is the `reserved` directory or inside it, also through
    symbolic links, `..` and bind mounts.

    `why` names the consequence.
    """
    name, directory = reserved
    return [
        f"{other}: {path} is {_relation(path, directory)} {directory} (`{name}`): {why}. Name a "
        "directory outside it."
        for other, path in others
        if is_inside(path, directory)
    ]


def is_inside(path: Path, directory: Path) -> bool:
    """Whether a path, which need not exist, is a directory or inside it."""
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
    """A message for each directory in which every user may replace files; `wanted` as in
    `directory_problems`, which reports inaccessible ones."""
    return [
        f"{name}: every user of this machine can replace files in {path}. Run `chmod o-w "
        f"{shlex.quote(str(path))}`."
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
    # In a sticky directory only its owner can replace a file.
    return bool(mode & stat.S_IWOTH) and not mode & stat.S_ISVTX


def _is_pod_volume(path: Path) -> bool:
    """An emptyDir of Kubernetes has mode 0777, but only containers of the pod can access it."""
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
        return (
            f"{name}: the directory {path} does not exist. Create it: `mkdir -p "
            f"{shlex.quote(str(path))}`."
        )
    except OSError as error:
        rights = _rights(path) if isinstance(error, PermissionError) else ""
        return (
            f"{name}: the directory {path} cannot be accessed: {error.strerror}. {rights}".rstrip()
        )
    if not stat.S_ISDIR(status.st_mode):
        return f"{name}: {path} is not a directory."
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        if os.statvfs(path).f_flag & os.ST_RDONLY:
            return (
                f"{name}: the directory {path} is on a read-only file system. Mount it read-write."
            )
        return f"{name}: this user may not read and write the directory {path}. {_rights(path)}"
    return None


def _rights(path: Path) -> str:
    """The user of the process, the owner of the nearest visible directory, and the remedy."""
    uid, gid = os.geteuid(), os.getegid()
    process = f"The process runs as user {user_text(uid)} in group {group_text(gid)}"
    for place in (path, *path.parents):
        try:
            status = place.stat()
        except OSError:
            continue
        if place == path or not os.access(place, os.X_OK):
            mode = f"{stat.S_IMODE(status.st_mode):04o}"
            rights = "rwx" if place == path else "x"
            return (
                f"{process}; {place} belongs to user {user_text(status.st_uid)} and group "
                f"{group_text(status.st_gid)} with mode {mode}. Run: `setfacl "
                f"-m u:{uid}:{rights} {shlex.quote(str(place))}`."
            )
    return f"{process}."
