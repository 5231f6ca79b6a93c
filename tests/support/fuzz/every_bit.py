"""Every bit of a segment of 64 KiB, flipped alone, in every framing.

`commitlog/fuzz/src/every_bit.rs` says what is checked; here its program is built and listened to.
"""

import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.fuzz.guided import FuzzError
from tests.support.servers.cache import REPOSITORY

FRAMINGS = ("plain", "lz4", "snappy", "deflate", "zstd", "noop", "cbc", "ctr")
_DONE = re.compile(r"\S+ done (\d+) of (\d+)")


@dataclass(frozen=True, slots=True)
class Flipped:
    """How many bits were flipped, and what was wrong with which."""

    bits: int
    failures: tuple[str, ...]


def build() -> Path:
    """Builds the program; returns its path. Raises FuzzError."""
    command = ["cargo", "build", "--quiet", "--release", "--locked"]
    command += ["--package", "commitlog-fuzz", "--bin", "every_bit"]
    if subprocess.run(command, cwd=REPOSITORY, check=False).returncode:
        raise FuzzError("The program that flips bits cannot be built; cargo says above why.")
    return REPOSITORY / "target" / "release" / "every_bit"


def flip_every_bit(program: Path, framing: str, show: Callable[[int, int], None]) -> Flipped:
    """Flips all bits of a framing's segment; `show` is told how many of how many are done."""
    bits = 0
    failures = []
    command = [str(program), framing]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in _lines(process):
            if found := _DONE.fullmatch(line):
                bits = int(found[1])
                show(bits, int(found[2]))
            else:
                failures.append(line)
    if process.returncode and not failures:
        failures.append(f"{framing} ended with exit code {process.returncode} at bit {bits}")
    return Flipped(bits, tuple(failures))


def _lines(process: subprocess.Popen[str]) -> Iterator[str]:
    if process.stdout is not None:
        for line in process.stdout:
            yield line.rstrip("\n")
