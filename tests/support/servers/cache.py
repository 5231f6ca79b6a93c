"""The folder that keeps what the harness downloads or builds; several processes may share it."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]


def cache_directory() -> Path:
    """`CDC_CACHE`, else `.cache` at the repository root; made when absent."""
    directory = Path(os.environ.get("CDC_CACHE") or REPOSITORY / ".cache").resolve()
    directory.mkdir(parents=True, exist_ok=True)
    ignore = directory / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n")
    return directory


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold the lock `name` across processes; waits for as long as another one holds it."""
    locks = cache_directory() / "locks"
    locks.mkdir(exist_ok=True)
    with (locks / f"{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def cached_directory(name: str, fill: Callable[[Path], None]) -> Path:
    """The folder `name` of the cache, filled by `fill(empty folder)` when it is not there yet.

    A fill that raises leaves nothing behind: the folder appears by one rename when it is whole.
    """
    target = cache_directory() / name
    if target.is_dir():
        return target
    with locked(name.replace("/", "-")):
        if target.is_dir():
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        try:
            fill(unfinished)
            unfinished.rename(target)
        except BaseException:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise
    return target
