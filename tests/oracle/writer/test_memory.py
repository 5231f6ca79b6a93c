"""How much memory the reader takes, whatever a segment says. Each read is a process of its own."""

import json
import random
import subprocess
import sys
from pathlib import Path
from uuid import UUID

import pytest

import commitlog
from tests.oracle.writer import (
    FRAMINGS,
    MARKER_LENGTH,
    PLAIN,
    Framing,
    be32,
    header,
    insert,
    marker,
    mutation,
    update,
    uvint,
    write_segment,
)

NAME = "CommitLog-7-1.log"
TABLE_ID = UUID("5a1c395e-b41f-11e5-9f22-ba0be0483c18")
SCHEMA_TEXT = (
    f"CREATE TABLE k.t (p text, c int, v text, PRIMARY KEY (p, c)) "
    f"WITH ID = {TABLE_ID} AND cdc = true"
)
SCHEMA = commitlog.Schema.from_cql(SCHEMA_TEXT)
MIB = 1 << 20
READ = """
import json, re, sys
from pathlib import Path
import commitlog

def peak_kib():
    # Unlike the peak that getrusage gives, this one begins with the program.
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

schema = commitlog.Schema.from_cql(sys.argv[2])
event_format = commitlog.EventFormat(topic_prefix="t", cluster="c", node_id="n")
keys = {alias: bytes.fromhex(key) for alias, key in json.loads(sys.argv[3]).items()}
before_kib = peak_kib()
reader = commitlog.SegmentReader(sys.argv[1], keys=keys)
mutations = 0
try:
    if sys.argv[4] == "scan":
        mutations = reader.scan(schema).mutations
    else:
        stop = "full"
        while stop != "end":
            batch = reader.read(schema, event_format, complete=True)
            mutations += batch.mutations
            stop = batch.stop
            if stop == "blocked":
                reader.skip()
except commitlog.SegmentKeyError:
    # A damaged chunk cannot be told from a wrong key where there is no other.
    pass
print(json.dumps({"before": before_kib, "peak": peak_kib(), "mutations": mutations,
                  "gaps": len(reader.gaps)}))
"""


def read(path: Path, framing: Framing, how: str) -> dict[str, int]:
    """Mutations, gaps, and the resident memory before and at most, in KiB."""
    keys = json.dumps({alias: key.hex() for alias, key in framing.keys.items()})
    done = subprocess.run(
        [sys.executable, "-c", READ, str(path), SCHEMA_TEXT, keys, how],
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    found: dict[str, int] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("framing", FRAMINGS, ids=lambda framing: framing.name)
def test_a_segment_of_32_mib_with_mutations_of_16_mib(framing: Framing, tmp_path: Path) -> None:
    """The reader holds one record, or one section, stored and decoded, of which noise makes the
    largest; 80 MB are for the whole process."""
    value = random.Random(1).randbytes(16 * MIB - 4096)
    payload = mutation(update(TABLE_ID, insert(1, value)))
    path = tmp_path / NAME
    path.write_bytes(write_segment([[payload], [payload]], framing=framing).data)
    found = read(path, framing, "scan")
    assert (found["mutations"], found["gaps"]) == (2, 0)
    assert found["peak"] * 1024 < 80_000_000, found


@pytest.mark.parametrize("framing", FRAMINGS, ids=lambda framing: framing.name)
def test_a_section_that_claims_2_gib_takes_no_memory(framing: Framing, tmp_path: Path) -> None:
    """No length of a section, block, chunk or record is believed before its bytes are there."""
    payload = mutation(update(TABLE_ID, insert(1, b"v")))
    segment = write_segment([[payload]], framing=framing)
    path = tmp_path / NAME
    start = segment.markers[0] + MARKER_LENGTH
    for huge in (0x7FFFFFFF, 0xFFFFFFFF, 1 << 30):
        for place in range(start, min(start + 24, segment.chain_end), 4):
            data = bytearray(segment.data)
            data[place : place + 4] = be32(huge)
            path.write_bytes(data)
            try:
                reader = commitlog.SegmentReader(str(path), keys=framing.keys)
                assert reader.scan(SCHEMA).mutations <= 1
            except commitlog.SegmentKeyError as error:
                assert framing.keys and NAME in str(error)
    data = bytearray(segment.data)
    data[start : start + 4] = be32(0x7FFFFFFF)
    path.write_bytes(data)
    found_outside = read(path, framing, "read")
    assert found_outside["peak"] - found_outside["before"] < 16 * 1024, found_outside


@pytest.mark.parametrize("claim", [40 * MIB, 500 * MIB, 0x7FFFFFFF])
@pytest.mark.parametrize("framing", FRAMINGS, ids=lambda framing: framing.name)
def test_a_damaged_block_that_claims_much_takes_no_memory(
    framing: Framing, claim: int, tmp_path: Path
) -> None:
    """So large a block that its compressor could make as much of it, were it not damaged."""
    value = random.Random(1).randbytes(2 * MIB)
    payload = mutation(update(TABLE_ID, insert(1, value)))
    segment = write_segment([[payload], [payload]], framing=framing)
    data = bytearray(segment.data)
    start = segment.markers[0] + MARKER_LENGTH
    data[start : start + 4] = be32(claim)
    data[start + MIB] ^= 1
    path = tmp_path / NAME
    path.write_bytes(data)
    found = read(path, framing, "scan")
    assert found["gaps"] > 0
    assert found["peak"] - found["before"] < 32 * 1024, found


def test_lengths_inside_a_payload_take_no_memory(tmp_path: Path) -> None:
    good = mutation(update(TABLE_ID, insert(1, b"v" * 100)))
    payloads = [
        good[:place] + uvint(length) + good[place + 1 :]
        for place in range(len(good) - 100)
        for length in (1 << 24, 1 << 31, (1 << 64) - 1)
    ]
    path = tmp_path / NAME
    path.write_bytes(write_segment([payloads]).data)
    found = read(path, PLAIN, "read")
    assert found["peak"] - found["before"] < 16 * 1024, found


def test_a_marker_that_claims_4_gib_takes_no_memory(tmp_path: Path) -> None:
    start = header(7, 1)
    path = tmp_path / NAME
    path.write_bytes(start + marker(1, len(start), 0xFFFFFFFF) + bytes(100))
    found = read(path, PLAIN, "scan")
    assert found["gaps"] == 1
    assert found["peak"] - found["before"] < 16 * 1024, found
