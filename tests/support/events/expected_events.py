"""What the events of a partition update must be, from Cassandra's own reading of it.

Takes a line of the canonical dump and says kind, op and `cells` of each event, in order. Written
from docs/reference/event-format.md alone; nothing of the encoder is used.
"""

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ExpectedEvent:
    """One event; `cells` without the members that only an implementation can give (token, ck)."""

    kind: str
    op: str
    position: int
    cells: Json
    timestamp_us: int


def b64(hexadecimal: str | None) -> str | None:
    """Hex of a dump as the base64 of an event."""
    if hexadecimal is None:
        return None
    return base64.b64encode(bytes.fromhex(hexadecimal)).decode()


def present(members: Json) -> Json:
    """Absent members are null."""
    return {name: value for name, value in members.items() if value is not None}


def deletion(found: Json) -> Json:
    return present({"ts": found["ts"], "ldt": found["ldt"]})


def cell(found: Json) -> Json:
    members = present(
        {
            "col": found["col"],
            "path": b64(found["path"]),
            "ts": found["ts"],
            "ttl": found["ttl"],
            "ldt": found["ldt"],
        }
    )
    return {**members, "val": b64(found["val"])}


def written(row: Json) -> Json:
    """The members of a row's write."""
    members: Json = {}
    if row["live"]:
        members["live"] = present(row["live"])
    if row["cdel"]:
        members["cdel"] = [{"col": found["col"], **deletion(found)} for found in row["cdel"]]
    if row["cells"]:
        members["cell"] = [cell(found) for found in row["cells"]]
    return members


def largest_time(row: Json) -> int:
    times = [found["ts"] for found in (*row["cdel"], *row["cells"])]
    if row["live"]:
        times.append(row["live"]["ts"])
    return max(times, default=0)


def is_empty(row: Json) -> bool:
    return not (row["live"] or row["cdel"] or row["cells"])


def expected_events(line: Json) -> Iterator[ExpectedEvent]:
    """The events of one update, ranges in front of the rows inside them."""
    common = {"id": line["id"], "pk": b64(line["key"])}

    def event(kind: str, op: str, members: Json, timestamp_us: int) -> ExpectedEvent:
        cells = {"kind": kind, **common, **members}
        return ExpectedEvent(kind, op, line["pos"], cells, timestamp_us)

    if line["del"]:
        yield event("partition", "d", {"del": deletion(line["del"])}, line["del"]["ts"])
    if line["static"]:
        yield event("static", "u", written(line["static"]), largest_time(line["static"]))
    for item in line["items"]:
        if item["t"] == "row":
            clustering = {"ckv": [b64(value) for value in item["ck"]]}
            if item["del"]:
                members = {**clustering, "del": deletion(item["del"])}
                yield event("row", "d", members, item["del"]["ts"])
            if not item["del"] or not is_empty(item):
                op = "i" if item["live"] else "u"
                yield event("row", op, {**clustering, **written(item)}, largest_time(item))
        else:
            opening = item.get("open") or (item["del"] if "START" in item["kind"] else None)
            if opening:
                yield event("range", "r", {"del": deletion(opening)}, opening["ts"])
