"""Directories of the benchmarks: `.cache/bench/` at the repository root (or in `CDC_CACHE`)."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.servers.cache import cache_directory


def bench_directory() -> Path:
    directory = cache_directory() / "bench"
    directory.mkdir(exist_ok=True)
    return directory


@contextmanager
def scratch_directory(name: str) -> Iterator[Path]:
    """A directory for one run, removed afterwards."""
    directory = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=bench_directory()))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)
