"""The kept inputs of the guided targets, which `cargo test` replays (`commitlog/fuzz/tests`)."""

import gzip
from collections.abc import Iterable
from pathlib import Path

from tests.support.servers.cache import REPOSITORY

FOLDER = REPOSITORY / "commitlog" / "fuzz" / "corpus"
FOUND = FOLDER.with_name("found")
KEPT_BYTES = 128 << 10
"""Most that is kept of a target, packed."""


def kept_inputs(target: str, folder: Path = FOLDER) -> list[bytes]:
    """The corpus of a target: each input after its length in four bytes, gzipped together."""
    path = folder / f"{target}.gz"
    data = gzip.decompress(path.read_bytes()) if path.exists() else b""
    found = []
    at = 0
    while at < len(data):
        end = at + 4 + int.from_bytes(data[at : at + 4], "big")
        found.append(data[at + 4 : end])
        at = end
    return found


def found_inputs(target: str) -> list[bytes]:
    """Inputs that once failed a target (`commitlog/fuzz/found`)."""
    return [path.read_bytes() for path in sorted(FOUND.glob(f"{target}-*"))]


def keep_inputs(target: str, inputs: Iterable[bytes], folder: Path = FOLDER) -> int:
    """Writes the smallest inputs first, as many as fit; returns their number."""
    folder.mkdir(parents=True, exist_ok=True)
    ordered = sorted(set(inputs), key=lambda data: (len(data), data))
    while True:
        joined = b"".join(len(data).to_bytes(4, "big") + data for data in ordered)
        packed = gzip.compress(joined, 9, mtime=0)
        if len(packed) <= KEPT_BYTES:
            break
        ordered = ordered[: len(ordered) * 19 // 20]
    (folder / f"{target}.gz").write_bytes(packed)
    return len(ordered)
