"""Events larger than 16 MB: what a server can do with them, and what helps where it cannot.

A server applies the stages of a stream before it converts an event to BSON, which has the limit.
https://www.mongodb.com/docs/manual/reference/operator/aggregation/changeStreamSplitLargeEvent/
https://www.mongodb.com/docs/manual/reference/operator/aggregation/bsonSize/
"""

from collections.abc import Mapping
from typing import Any, Literal

OversizePolicy = Literal["fail", "skip", "split"]
# What a server can do: send an event in parts, measure it, or neither.
LargeEvents = Literal["split", "measure", "none"]

MOST_BYTES = 16 << 20
_MEASURE = (4, 4)
# The rapid releases 6.1 to 6.3 are older than 6.0.9.
_SPLIT, _NO_SPLIT, _SPLIT_AGAIN = (6, 0, 9), (6, 1), (7, 0)
_MEMBERS = ("fullDocument", "fullDocumentBeforeChange", "updateDescription", "documentKey")
_LEFT = ("_id", "operationType", "clusterTime", "ns")


def large_events_of(version: tuple[int, ...]) -> LargeEvents:
    """What a release of MongoDB can do."""
    if version >= _SPLIT_AGAIN or _SPLIT <= version < _NO_SPLIT:
        return "split"
    return "measure" if version >= _MEASURE else "none"


def can_read(mode: OversizePolicy, server: LargeEvents) -> bool:
    """Whether a stream with `large_event_stage` continues after a large event."""
    return (mode == "skip" and server != "none") or (mode == "split" and server == "split")


def large_event_stage(server: LargeEvents) -> Mapping[str, Any]:
    """The last stage of a stream that has a large event.

    A server that cannot split one leaves its members out and marks it as one part of one, so that
    the agent counts and logs what it skips.
    """
    if server == "split":
        return {"$changeStreamSplitLargeEvent": {}}
    nothing: Mapping[str, Any] = {"$literal": {}}
    sizes = [{"$bsonSize": {"$ifNull": [f"${name}", nothing]}} for name in _MEMBERS]
    short: dict[str, Any] = {name: f"${name}" for name in _LEFT}
    short["splitEvent"] = {"$literal": {"fragment": 1, "of": 1}}
    is_large = {"$gt": [{"$add": sizes}, MOST_BYTES]}
    shortened = {"$cond": {"if": is_large, "then": short, "else": "$$ROOT"}}
    return {"$replaceRoot": {"newRoot": shortened}}


def remedy_of(mode: OversizePolicy, server: LargeEvents) -> str:
    """What helps where `mode` does not, or where an event is too large in spite of it."""
    without = (
        "Exclude the collection, or remove large fields by a stage of `cursor.pipeline`, such as "
        '`[{"$unset": "fullDocument.text"}]`'
    )
    if can_read(mode, server):
        return f"{without}."
    if server == "split":
        return "Set `cursor.oversize.handling.mode=split` to read such events in parts."
    newer = "Use MongoDB 6.0.9 or 7.0 or later, which sends such events in parts"
    if server == "measure":
        skip = "set `cursor.oversize.handling.mode=skip` to skip, count and log them"
        return f"{newer}, or {skip}. {without} to read the other fields."
    return f"{newer}. {without}."
