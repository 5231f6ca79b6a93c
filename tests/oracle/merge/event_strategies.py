"""Random event values of one table, with few keys, times and values, so that many conflict."""

from base64 import b64encode
from typing import Any

from hypothesis import strategies as st

EventValue = dict[str, Any]

KEYS = (b"\x00\x00\x00\x01", b"\x00\x00\x00\x02")
CLUSTERINGS = (b"\x40\x01", b"\x40\x02", b"\x40\x02\x40\x00", b"\x40\x03")
BOUNDS = (b"", b"\x40\x01", b"\x40\x02", b"\x40\x02\xff", b"\x40\x03", b"\xff")
PATHS = (b"p", b"q")
KEYS_OF_PATHS = {b"p": b"\x40\x02", b"P": b"\x40\x02", b"q": b"\x40\x01"}
"""Keys in columns whose equal elements may differ in bytes."""
VALUES = (b"", b"\x7f", b"\x80", b"\x80\x00", b"\xff")
TTLS_S = (1, 2, 3)
OLDEST_US = -(1 << 63) + 1
"""Write time of snapshot values without a time."""
TIMES_US = st.integers(-1, 3) | st.just(OLDEST_US)
SECONDS = st.integers(10, 13)


def _text(raw: bytes) -> str:
    return b64encode(raw).decode()


@st.composite
def deletions(draw: st.DrawFn) -> EventValue:
    return {"ts": draw(TIMES_US), "ldt": draw(SECONDS)}


@st.composite
def livenesses(draw: st.DrawFn) -> EventValue:
    live: EventValue = {"ts": draw(TIMES_US)}
    if draw(st.booleans()):
        live |= {"ttl": draw(st.sampled_from(TTLS_S)), "ldt": draw(SECONDS)}
    return live


@st.composite
def cells(draw: st.DrawFn, columns: tuple[str, ...]) -> EventValue:
    """A cell. Columns `m…` have elements; columns `me…` have equal elements."""
    cell: EventValue = {"col": draw(st.sampled_from(columns))}
    if cell["col"].startswith("me"):
        path = draw(st.sampled_from(sorted(KEYS_OF_PATHS)))
        cell |= {"path": _text(path), "key": _text(KEYS_OF_PATHS[path])}
    elif cell["col"].startswith("m"):
        cell["path"] = _text(draw(st.sampled_from(PATHS)))
    cell["ts"] = draw(TIMES_US)
    match draw(st.sampled_from(["live", "expiring", "tombstone"])):
        case "live":
            cell["val"] = _text(draw(st.sampled_from(VALUES)))
        case "expiring":
            cell |= {"ttl": draw(st.sampled_from(TTLS_S)), "ldt": draw(SECONDS)}
            cell["val"] = _text(draw(st.sampled_from(VALUES)))
        case _:
            cell |= {"ldt": draw(SECONDS), "val": None}
    return cell


@st.composite
def written(draw: st.DrawFn, columns: tuple[str, ...], *, is_static: bool) -> EventValue:
    members: EventValue = {}
    if not is_static and draw(st.booleans()):
        members["live"] = draw(livenesses())
    complex_columns = [column for column in columns if column.startswith("m")]
    if draw(st.booleans()):
        members["cdel"] = [draw(deletions()) | {"col": draw(st.sampled_from(complex_columns))}]
    if draw(st.integers(0, 3)):
        members["cell"] = draw(st.lists(cells(columns), min_size=1, max_size=3))
    return members


@st.composite
def event_values(draw: st.DrawFn) -> EventValue:
    """The value of one event, with only `cells`."""
    kind = draw(st.sampled_from(["row", "row", "row", "static", "range", "partition"]))
    key = draw(st.sampled_from(KEYS))
    members: EventValue = {"kind": kind, "pk": _text(key), "token": -key[3]}
    match kind:
        case "row":
            clustering = draw(st.sampled_from(CLUSTERINGS))
            members |= {"ck": _text(clustering), "ckv": [_text(clustering[1:])]}
            if draw(st.integers(0, 4)):
                members |= draw(written(("a", "b", "m", "me"), is_static=False))
            else:
                members["del"] = draw(deletions())
        case "static":
            members |= draw(written(("s", "ms"), is_static=True))
        case "range":
            low, high = sorted(draw(st.tuples(*[st.sampled_from(BOUNDS)] * 2)))
            members |= {"lo": _text(low), "hi": _text(high), "del": draw(deletions())}
        case _:
            members["del"] = draw(deletions())
    return {"cells": members}


@st.composite
def one_cell_events(draw: st.DrawFn) -> list[EventValue]:
    """Writes to one cell or element at one time, so that only ties decide."""
    ts_us = draw(TIMES_US)
    column = draw(st.sampled_from(("a", "me")))
    found = []
    for cell in draw(st.lists(cells((column,)), min_size=1, max_size=6)):
        members = {"kind": "row", "pk": _text(KEYS[0]), "token": 0, "ck": "", "ckv": []}
        found.append({"cells": members | {"cell": [cell | {"ts": ts_us}]}})
    return found
