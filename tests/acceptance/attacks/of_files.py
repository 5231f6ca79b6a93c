"""Attacks by files that arrive while the agent runs: segments, indexes, the schema, reasons."""

import os
import re
import resource
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import cramjam

from tests.acceptance.attacks.over_http import ATTACK_S, Attack
from tests.acceptance.attacks.target import Target
from tests.oracle import writer
from tests.oracle.writer import be32, insert, mutation, record, update
from tests.oracle.writer.framings import compressed
from tests.support.agents.agent_directory import SCHEMA, TABLE_ID, payload, write_segment
from tests.support.segments import bombs
from tests.support.servers.processes import wait_until

SETTINGS = {"schema.refresh.interval.ms": "200"}
Plant = Callable[[Path], object]
"""Writes into the agent's folder."""
_LARGE, _INDEXES, _LATER = bombs.LARGE_BYTES, 20_000, 100_000
_ROWS = record(mutation(update(TABLE_ID, insert(1, b"x" * (50 << 20)))))
LONG_SCHEMA = SCHEMA + ("-- " + "a" * 1020 + "\n") * (64 << 10)


def planted(folder: Path, plant: Plant, seen: str) -> Attack:
    """Wait until the agent has logged or shown `seen`, and delivered a later segment."""

    def attack(target: Target) -> None:
        def wait(has: Callable[[], object], what: str) -> None:
            wait_until(lambda: bool(has()) or not target.is_running, what)

        events = folder / "events.ndjson"
        wait(lambda: events.exists() and b'"x"' in events.read_bytes(), "the first segment")
        # The parser reads this limit. Enforcing it would count the threads' stacks.
        target.limit_data(resource.RLIM_INFINITY)
        plant(folder)
        write_segment(folder / "cdc_raw", _LATER, [[payload(1, b"later")]])
        wait(lambda: re.search(seen, target.log + target.get("/health")), seen)
        wait(lambda: b'"later"' in events.read_bytes(), "the segment after it")
        time.sleep(ATTACK_S)

    return attack


def _section(compressor: str, length: int, make: Callable[[int], bytes]) -> Plant:
    """Segment of one compressed section that claims this length."""

    def plant(folder: Path) -> None:
        section = be32(length) + make(length)
        framing = compressed("", bytes, bombs.PREFIX + compressor)
        start = writer.header(7, 2, framing.parameters)
        end = len(start) + writer.MARKER_LENGTH + len(section)
        path = folder / "cdc_raw" / "CommitLog-7-2.log"
        path.write_bytes(start + writer.marker(2, len(start), end) + section)
        path.with_name("CommitLog-7-2_cdc.idx").write_text(f"{end}\nCOMPLETED\n")

    return plant


def _hole(folder: Path, name: str, start: bytes = b"") -> None:
    (folder / "cdc_raw" / name).write_bytes(start)
    os.truncate(folder / "cdc_raw" / name, 1 << 40)


def _indexes(folder: Path) -> None:
    for number in range(_INDEXES):
        (folder / "cdc_raw" / f"CommitLog-7-{number + 100}_cdc.idx").write_text("9" * 80)


def _names(folder: Path) -> None:
    raw = os.fsencode(folder / "cdc_raw")
    for name in (b"\xff.log", b"CommitLog-7-\xff.log", b"\x1b[2J\r\n.log", b"\xed\xa0\x80.log"):
        Path(os.fsdecode(raw + b"/" + name)).touch()


def _reason(folder: Path, reason: bytes) -> None:
    """Reason that the agent reads for its status."""
    error = folder / "relocation" / "error"
    error.mkdir(exist_ok=True)
    path = write_segment(error, 2, [[payload(2)]])
    path.with_name(f"{path.name}.reason.json").write_bytes(reason)


def doubling(levels: int) -> str:
    """Each user type contains the previous one twice."""
    types = "".join(
        f"CREATE TYPE ks.u{level} (a frozen<u{level - 1}>, b frozen<u{level - 1}>);"
        for level in range(1, levels + 1)
    )
    table = SCHEMA.replace("v text,", f"v text, w frozen<u{levels}>,")
    return f"CREATE TYPE ks.u0 (a int);{types}{table}"


def nested(levels: int) -> str:
    deep = "frozen<list<" * levels + "int" + ">>" * levels
    return SCHEMA.replace("v text,", f"v text, w {deep},")


def _schema(text: str) -> Plant:
    return lambda folder: (folder / "schema.cql").write_text(text)


_ZSTD = _section("ZstdCompressor", _LARGE, bombs.zstd_bomb)
_LZ4 = _section("LZ4Compressor", _LARGE, bombs.lz4_bomb)
_DEFLATE = _section("DeflateCompressor", _LARGE, lambda _: bombs.deflate_bomb())
_ALLOWED = _section("ZstdCompressor", 220 << 20, bombs.zstd_bomb)
_VALUE = _section("ZstdCompressor", len(_ROWS), lambda _: bytes(cramjam.zstd.compress(_ROWS)))
_SEGMENT = partial(_hole, name="CommitLog-7-2.log", start=writer.header(7, 2, b"{}"))
COMMENT = SCHEMA.replace("true;", f"true AND comment = '{'a' * (15 << 20)}';")
_EXCEEDS = r"of \d+ MiB exceeds the \d+ MiB allowed by the memory limit"
_READ = r"CommitLog-7-2\.log"
_EMPTY_LISTS = b'{"ranges":[' + b"[]," * (5 << 20) + b"1]}"
FILES: dict[str, tuple[Plant, str]] = {
    "a Zstd section of 16 KiB that expands to 511 MiB": (_ZSTD, _EXCEEDS),
    "an LZ4 section of 2 MiB that expands to 511 MiB": (_LZ4, _EXCEEDS),
    "a Deflate section that claims 511 MiB and expands to 2 GiB": (_DEFLATE, _EXCEEDS),
    "a Zstd section that expands to 220 MiB, which the limit allows": (_ALLOWED, ""),
    "a Zstd section of 5 KiB with a value of 50 MiB, which the limit allows": (_VALUE, ""),
    "a segment that is a hole of 1 TiB": (_SEGMENT, _READ),
    "an index that is a hole of 1 TiB": (partial(_hole, name="CommitLog-7-2_cdc.idx"), ""),
    f"{_INDEXES} indexes of long numbers without segments": (_indexes, ""),
    "names of files that are not UTF-8": (_names, r"xff"),
    "a reason of 15 MiB of empty lists": (partial(_reason, reason=_EMPTY_LISTS), _READ),
    "a reason nested 1,000,000 deep": (partial(_reason, reason=b"[" * 1_000_000), _READ),
    "a schema whose user types double 24 times": (_schema(doubling(24)), ""),
    "a schema with a type nested 100,000 deep": (_schema(nested(100_000)), ""),
    "a schema with a comment of 15 MiB": (_schema(COMMENT), ""),
    "a schema of 64 MiB": (_schema(LONG_SCHEMA), r"schema\.file"),
}
