"""The events of examples/spark: orders of the recorded node, as three replicas publish them.

`python -m tests.support.segments.recorded_orders` writes the files.
"""

import gzip
import json
import random
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import commitlog
from tests.oracle.reference.recordings import REPOSITORY, Scenario
from tests.support.segments.segment_reading import events, unpacked

EXAMPLES = REPOSITORY / "examples"
_RECORDING = EXAMPLES / "quickstart"
_USERS = (
    "d208e4b2-786d-4f3d-8783-1db926c63055",
    "2e39e5ed-8965-4993-8151-0b749d1649c4",
    "4a716761-35a3-4254-8096-594d39260952",
)
_SHARE = 0.6
"""Share of the events before the pause between both files."""
_SEED = 41
Value = dict[str, Any]


def files() -> dict[Path, list[Value]]:
    """The values of events by file.

    In the first file, one of three replicas is missing; the second has its late copies.
    """
    found = [value for value in _orders() if value["after"]["user_id"]["value"] in _USERS]
    early = found[: int(len(found) * _SHARE)]
    late = found[len(early) :]
    folder = EXAMPLES / "spark"
    return {
        folder / "orders-1.ndjson.gz": _shuffled(early * 2),
        folder / "orders-2.ndjson.gz": _shuffled([*early, *late * 3]),
    }


def _orders() -> list[Value]:
    schema = commitlog.Schema.from_cql((_RECORDING / "schema.cql").read_text(encoding="utf-8"))
    form = commitlog.EventFormat(topic_prefix="cdc", cluster="shop", node_id="node")
    segments = Scenario(_RECORDING, _RECORDING / "cdc_raw").segments()
    with tempfile.TemporaryDirectory() as folder:
        return [
            event.value
            for path, name in segments
            for event in events(unpacked(path, name, Path(folder)), schema, form)
            if event.topic == "cdc.shop.orders"
        ]


def _shuffled(values: Iterable[Value]) -> list[Value]:
    shuffled = list(values)
    random.Random(_SEED).shuffle(shuffled)
    return shuffled


def main() -> None:
    for path, values in files().items():
        lines = "".join(json.dumps(value, separators=(",", ":")) + "\n" for value in values)
        path.write_bytes(gzip.compress(lines.encode(), mtime=0))


if __name__ == "__main__":
    main()
