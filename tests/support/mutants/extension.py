"""Builds the extension of a Rust mutant with a cheap profile, and puts it into its place."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.mutants.modules import REPOSITORY

EXTENSION = REPOSITORY / "cdc_extension" / "_extension.abi3.so"
# Cargo's profile for development, rebuilt only where a crate changed.
ENVIRONMENT = {**os.environ, "CARGO_INCREMENTAL": "1", "CARGO_PROFILE_DEV_INCREMENTAL": "true"}


@contextmanager
def kept_extension() -> Iterator[None]:
    """Puts the present extension back at the end. Raises FileExistsError beside another run."""
    kept = EXTENSION.with_suffix(".so.kept")
    if kept.exists():
        raise FileExistsError(
            f"{kept}: another run uses the extension, or was killed: move it back"
        )
    shutil.copy2(EXTENSION, kept)
    try:
        yield
    finally:
        kept.replace(EXTENSION)


def build_extension(folder: Path | None, name: str) -> None:
    """Puts the extension of the present code into its place, from a folder that has it already.

    Raises CalledProcessError where the code does not compile.
    """
    kept = None if folder is None else folder / f"{name}.so"
    built = kept if kept is not None and kept.exists() else _build()
    # A process that has loaded the old file keeps it.
    _copy(built, EXTENSION)


def store_extension(folder: Path, name: str) -> None:
    """Builds the extension of the present code for later; does nothing where it is built."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / f"{name}.so"
    if not kept.exists():
        _copy(_build(), kept)


def _build() -> Path:
    command = ["cargo", "build", "--quiet", "--locked", "--package", "cdc-extension"]
    command += ["--features", "pyo3/extension-module"]
    subprocess.run(command, cwd=REPOSITORY, env=ENVIRONMENT, check=True, capture_output=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target"))
    return target / "debug" / "lib_extension.so"


def _copy(source: Path, target: Path) -> None:
    staged = target.with_suffix(".so.new")
    shutil.copy2(source, staged)
    staged.replace(target)
