"""Reads the commits of the version store from its Delta log.

The `userMetadata` of each commit is a JSON object with `kind` and, for a micro-batch, `offsets`:
the Kafka offsets after the micro-batch, by topic and partition.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["append", "truncate", "compact", "purge", "other"]
Offsets = Mapping[str, Mapping[int, int]]
"""Offsets after a batch, by topic and partition."""
_KINDS = ("append", "truncate", "compact", "purge")


@dataclass(frozen=True, slots=True)
class Commit:
    version: int
    kind: Kind
    rows: Mapping[str, int] = field(default_factory=dict)
    """Number of added events by table id, for each table that the commit changed."""
    offsets: Offsets = field(default_factory=dict)


def user_metadata(kind: Kind, offsets: Offsets | None = None) -> str:
    content: dict[str, Any] = {"kind": kind}
    if offsets:
        content["offsets"] = offsets
    return json.dumps(content, sort_keys=True)


def offsets_of_batch(log_entry: str) -> Offsets:
    """The end offsets in an entry of Spark's offset log: a version, metadata, then one source.

    Empty for sources other than Kafka.
    """
    try:
        return offsets_from_json(json.loads(log_entry.splitlines()[2]))
    except (AttributeError, IndexError, TypeError, ValueError):
        return {}


def read_commit(version: int, log_file: str) -> Commit:
    """Parse a commit from its file in `_delta_log` (Delta Lake protocol, section "Actions")."""
    rows: Counter[str] = Counter()
    metadata: dict[str, Any] = {}
    # Values in the statistics may contain other separators of lines.
    for line in log_file.strip().split("\n"):
        action = json.loads(line)
        if "commitInfo" in action:
            metadata = _metadata(action["commitInfo"].get("userMetadata"))
        elif "add" in action and action["add"]["dataChange"]:
            added = action["add"]
            count = json.loads(added.get("stats") or "{}").get("numRecords", 0)
            rows[added["partitionValues"]["table"]] += count
    kind = metadata.get("kind")
    offsets = offsets_from_json(metadata.get("offsets", {}))
    return Commit(version, kind if kind in _KINDS else "other", dict(rows), offsets)


def largest_offsets(each: Iterable[Offsets]) -> Offsets:
    """The largest offset of each partition."""
    found: dict[str, dict[int, int]] = {}
    for offsets in each:
        for topic, ends in offsets.items():
            known = found.setdefault(topic, {})
            for partition, offset in ends.items():
                known[partition] = max(offset, known.get(partition, 0))
    return found


def offsets_from_json(document: Mapping[str, Mapping[str, int]]) -> Offsets:
    """Parse offsets, with text as names. Raises ValueError, TypeError or AttributeError."""
    return {
        topic: {int(partition): int(offset) for partition, offset in ends.items()}
        for topic, ends in document.items()
    }


def offsets_to_json(offsets: Offsets) -> dict[str, dict[str, int]]:
    return {
        topic: {str(partition): offset for partition, offset in ends.items()}
        for topic, ends in offsets.items()
    }


def _metadata(text: str | None) -> dict[str, Any]:
    """The `userMetadata`; empty if another program wrote the commit."""
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
