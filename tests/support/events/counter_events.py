"""Random events of counters."""

import struct
from base64 import b64encode
from typing import Any

from hypothesis import strategies as st

LEADERS = (b"a" * 16, b"b" * 16)


def text(raw: bytes) -> str:
    return b64encode(raw).decode()


def context(*shards: tuple[bytes, int, int]) -> bytes:
    header = struct.pack(f">h{len(shards)}h", len(shards), *(i - 32768 for i in range(len(shards))))
    return header + b"".join(struct.pack(">16sqq", *shard) for shard in shards)


@st.composite
def counter_events(draw: st.DrawFn) -> dict[str, Any]:
    """Counts, a deletion of the cell, or one of the row; a leader's count follows its clock."""
    clustering = draw(st.sampled_from((b"\x40\x01", b"\x40\x02")))
    place = {"kind": "row", "pk": text(b"k"), "token": 1, "ck": text(clustering), "ckv": []}
    ts_us = draw(st.integers(0, 4))
    match draw(st.sampled_from(["count", "count", "count", "cell", "row"])):
        case "count":
            leaders = draw(st.lists(st.sampled_from(LEADERS), min_size=1, unique=True))
            clocks = [(each, draw(st.integers(1, 4))) for each in leaders]
            shards = context(*((each, clock, clock * clock - 9) for each, clock in clocks))
            return {"cells": place | {"cell": [{"col": "n", "ts": ts_us, "val": text(shards)}]}}
        case "cell":
            cell = {"col": "n", "ts": ts_us, "ldt": 10, "val": None}
            return {"cells": place | {"cell": [cell]}}
        case _:
            return {"cells": place | {"del": {"ts": ts_us, "ldt": 10}}}
