"""Durable writes, and checks that directories are usable, separate and not world-writable."""

import os
import shlex
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from sidecar.files.access import group_text, user_text
from sidecar.files.regular import make_directory, open_new, open_regular


def append_lines(path: Path, lines: bytes) -> None:
    """Append durably, and first terminate a line that a crash truncated. Raises OSError."""
    make_directory(path.parent)
    line_end = b"" if _ends_with_line(path) else b"\n"
    _write(open_regular(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT), line_end + lines)
    sync_directory(path.parent)


def write_synced(path: Path, content: bytes) -> None:
    """Replace a file. Its content is durable on return, its name is not. Raises OSError."""
    _write(open_new(path), content)


def temporary_of(path: Path) -> Path:
    """Return the path of a file before its rename to `path`. Nothing reads it."""
    return path.with_name(f".{path.name}.tmp")


def replace_synced(path: Path, content: bytes) -> None:
    """Replace a file as a whole, or leave the present one. Durability is as for `write_synced`.
    Raises OSError."""
    temporary = temporary_of(path)
    try:
        write_synced(temporary, content)
        temporary.replace(path)
    except OSError:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def sync_file(path: Path) -> None:
    """Make the content of a file durable. Raises OSError."""
    _sync(open_regular(path, os.O_RDONLY))


def sync_directory(directory: Path) -> None:
    """Make the names in a directory durable."""
    _sync(os.open(directory, os.O_RDONLY | os.O_DIRECTORY))


def _sync(descriptor: int) -> None:
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write(descriptor: int, content: bytes) -> None:
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _ends_with_line(path: Path) -> bool:
    """Whether the last line is complete; false after a crash during a write."""
    try:
        with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
            return (
                file.seek(0, os.SEEK_END) == 0
                or os.pread(file.fileno(), 1, file.tell() - 1) == b"\n"
            )
    except FileNotFoundError:
        return True


def directory_problems(wanted: Iterable[tuple[str, Path]]) -> list[str]:
    """Return a message for each missing or unusable directory; `wanted` contains pairs of property
    and directory."""
    return [problem for name, path in wanted if (problem := _problem(name, path))]


def overlap_problems(
    reserved: tuple[str, Path], others: Iterable[tuple[str, Path]], why: str
) -> list[str]:
    """Return a message for each of `others` that is the `reserved` directory or inside it, even
    through symbolic links, `..` and bind mounts.

    `why` states the consequence.
    """
    name, directory = reserved
    return [
        f"{other}: {path} is {_relation(path, directory)} {directory} (`{name}`): {why}. Configure "
        "a directory outside it."
        for other, path in others
        if is_inside(path, directory)
    ]


def is_inside(path: Path, directory: Path) -> bool:
    """Whether a path, which need not exist, is `directory` or lies inside it."""
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
    """Return a message for each directory in which every user can replace files.
    `directory_problems` reports inaccessible directories."""
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
    # A Kubernetes emptyDir has mode 0777, but only containers of the pod can access it.
    if "KUBERNETES_SERVICE_HOST" in os.environ and path.is_mount():
        return False
    # In a sticky directory, only a file's owner can replace the file.
    return bool(mode & stat.S_IWOTH) and not mode & stat.S_ISVTX


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
        return f"{name}: this user cannot read and write the directory {path}. {_rights(path)}"
    return None


def _rights(path: Path) -> str:
    """Describe the process's user, the owner of the nearest visible directory, and the remedy."""
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
