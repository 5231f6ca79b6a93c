"""Builds the extension of a Rust mutant with a cheap profile, and puts it beside its stub."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.mutants.modules import REPOSITORY

EXTENSION = REPOSITORY / "commitlog" / "_commitlog.abi3.so"
# Cargo's profile for development, rebuilt only where a crate changed.
ENVIRONMENT = {**os.environ, "CARGO_INCREMENTAL": "1", "CARGO_PROFILE_DEV_INCREMENTAL": "true"}


@contextmanager
def kept_extension() -> Iterator[None]:
    """Puts the present extension back at the end."""
    kept = EXTENSION.with_suffix(".so.kept")
    shutil.copy2(EXTENSION, kept)
    try:
        yield
    finally:
        kept.replace(EXTENSION)


def build_extension() -> None:
    """Raises CalledProcessError where the code does not compile."""
    command = ["cargo", "build", "--quiet", "--locked", "--package", "commitlog-python"]
    features = ["--features", "pyo3/extension-module"]
    subprocess.run(
        [*command, *features], cwd=REPOSITORY, env=ENVIRONMENT, check=True, capture_output=True
    )
    _replace(_target() / "debug" / "lib_commitlog.so")


def _target() -> Path:
    return Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target"))


def _replace(built: Path) -> None:
    # A process that has loaded the old file keeps it.
    staged = EXTENSION.with_suffix(".so.new")
    shutil.copy2(built, staged)
    staged.replace(EXTENSION)
