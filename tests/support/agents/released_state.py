"""Recorded state files of released versions, and agents that resume from them."""

import gzip
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

RELEASES = Path(__file__).parents[2] / "fixtures" / "state"


def released_versions() -> list[str]:
    """Versions whose state files are recorded."""
    return sorted(path.name for path in RELEASES.iterdir())


@dataclass(frozen=True, slots=True)
class ReleasedState:
    """The recorded state of one agent of one release: `cassandra` or `mongodb`."""

    folder: Path

    @classmethod
    def of(cls, version: str, agent: str) -> "ReleasedState":
        return cls(RELEASES / version / agent)

    @property
    def recorded(self) -> dict[str, Any]:
        """What the release was stopped at."""
        document: dict[str, Any] = json.loads((self.folder / "recorded.json").read_text())
        return document

    def published(self) -> list[dict[str, Any]]:
        """The events that the release published."""
        return events_of(gzip.decompress((self.folder / "published.ndjson.gz").read_bytes()))

    def restore(self, name: str, target: Path) -> None:
        """Copies the folder `offsets` or `error`, segments unpacked."""
        target.mkdir(parents=True, exist_ok=True)
        for path in (self.folder / name).iterdir():
            if path.suffix == ".gz" and path.stem.endswith(".log"):
                (target / path.stem).write_bytes(gzip.decompress(path.read_bytes()))
            else:
                shutil.copyfile(path, target / path.name)

    def put_segment(self, name: str, cdc_raw: Path) -> None:
        """A whole segment of the node, and its completed index."""
        data = gzip.decompress((self.folder / "cdc_raw" / f"{name}.gz").read_bytes())
        (cdc_raw / name).write_bytes(data)
        index = cdc_raw / f"{name.removesuffix('.log')}_cdc.idx"
        index.write_text(f"{len(data)}\nCOMPLETED")


def events_of(lines: bytes) -> list[dict[str, Any]]:
    """Whole lines of JSON."""
    return [orjson.loads(line) for line in lines.rpartition(b"\n")[0].splitlines()]
