"""Folders of recorded segments.

A scenario is a folder with segments, their schema and the output of Cassandra's own reader. The
project's own recordings are under `tests/fixtures`. A further collection is optional: beside the
repository or in the folder of the environment variable CDC_SHARED.
"""

import gzip
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from agent.keystore.jceks import read_jceks
from agent.keystore.source import KeystoreSettings
from tests.oracle.reference.descriptor import SEGMENT_NAME
from tests.oracle.reference.line import to_line
from tests.oracle.reference.schema_text import parse_schema
from tests.oracle.reference.segment import read_segment

REPOSITORY = Path(__file__).resolve().parents[3]
OWN = REPOSITORY / "tests" / "fixtures"
SHARED = Path(os.environ.get("CDC_SHARED") or REPOSITORY.parent / "shared")
KEYSTORE = "cassandra.keystore"
PASSWORD = "cassandra"
"""Password of the recordings' keystores, and of the keys in them."""
GOLDEN = SHARED / "golden" / "apache-legacy-commitlog"
SAMPLE = (
    *("3.11/mixed", "4.0/collections", "4.1/encrypted", "4.1/lz4", "5.0/types", "5.0/deletions"),
    *("5.0/counters", "5.0/deflate", "5.0/kill9-lz4/3-after-clean-stop", "5.0/noop", "5.0/snappy"),
    *("5.0/three-nodes/node1", "5.0/three-nodes/node2", "5.0/three-nodes/node3", "5.0/ttl"),
    *("5.0/views", "5.0/zstd", "5.0-none/encrypted-ctr", "5.0-none/random", "6.0/batches"),
    *("6.0-none/deletions", "6.0-none/direct", "6.0-none/lz4", "6.0-none/types"),
)
"""Own recordings: each version, framing and kind of change."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A folder of recorded segments with their schema and dump."""

    root: Path
    folder: Path

    def __str__(self) -> str:
        return f"{self.root.parent.name}/{self.folder.relative_to(self.root)}"

    def segments(self) -> list[tuple[Path, str]]:
        """Files and names, by segment id."""
        paths = [*self.folder.glob("CommitLog-*.log.gz"), *self.folder.glob("*.log")]
        named = [(path, path.name.removesuffix(".gz")) for path in paths]
        return sorted(named, key=lambda each: _segment_id(each[1]))

    def keystore(self) -> KeystoreSettings | None:
        """Keystore that opens encrypted segments, if any."""
        path = self.folder / KEYSTORE
        return KeystoreSettings(path, PASSWORD, None, None, KEYSTORE) if path.exists() else None

    def keys(self) -> dict[str, bytes]:
        """The keys of encrypted segments, by alias."""
        return recorded_keys(self.folder / KEYSTORE)

    def expected(self) -> list[dict[str, Any]]:
        """Output of Cassandra's own reader."""
        with gzip.open(self.folder / "dump.ndjson.gz", "rt", encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]

    def read(self, skipped: Counter[str] | None = None) -> Iterator[dict[str, Any]]:
        """Output of this package, in the same form."""
        schema = parse_schema((self.folder / "schema.cql").read_text(encoding="utf-8"))
        for path, name in self.segments():
            for update in read_segment(path, name, schema, skipped, self.keys()):
                yield to_line(update)


def _segment_id(name: str) -> int:
    match = SEGMENT_NAME.fullmatch(name)
    return int(match[2]) if match else -1


def recorded_keys(keystore: Path) -> dict[str, bytes]:
    """Keys in the keystore of a recording; none without such a file."""
    return _keys_of(keystore.read_bytes()) if keystore.exists() else {}


@cache
def _keys_of(keystore: bytes) -> dict[str, bytes]:
    return read_jceks(keystore, PASSWORD, PASSWORD)


def scenarios() -> list[Scenario]:
    """All available scenarios, own ones first."""
    found = []
    for root in (OWN, SHARED / "fixtures"):
        for dump in sorted(root.rglob("dump.ndjson.gz")):
            found.append(Scenario(root, dump.parent))
    return found


def rows(found: Iterable[Scenario], *, is_whole: bool = False) -> list[Any]:
    """Scenarios as test parameters. Those outside `SAMPLE` are slow; with `is_whole`, those outside
    the project's own recordings."""

    def is_fast(each: Scenario) -> bool:
        return each in sampled([each]) or (is_whole and each.root == OWN)

    return [
        pytest.param(each, id=str(each), marks=() if is_fast(each) else pytest.mark.slow)
        for each in found
    ]


def sampled(found: Iterable[Scenario]) -> list[Scenario]:
    """Scenarios of `SAMPLE`."""
    return [each for each in found if each.folder in [OWN / name for name in SAMPLE]]
