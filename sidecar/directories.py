"""Directories that a configuration names: whether they can be used."""

import os
from collections.abc import Iterable
from pathlib import Path


def directory_problems(wanted: Iterable[tuple[str, Path]]) -> list[str]:
    """A sentence for each directory that is missing or cannot be used; `wanted` are properties and
    what they name."""
    return [problem for name, path in wanted if (problem := _problem(name, path))]


def _problem(name: str, path: Path) -> str | None:
    try:
        is_there = path.exists()
    except OSError as error:
        return f"{name}: the directory {path} cannot be looked at: {error.strerror}."
    if not is_there:
        return f"{name}: the directory {path} does not exist."
    if not path.is_dir():
        return f"{name}: {path} is no directory."
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        return f"{name}: this user may not read and write the directory {path}."
    return None
