"""How much memory the reader takes, whatever a segment says. Each read is a process of its own."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

import commitlog
from tests.oracle.writer import (
    FRAMINGS,
    LZ4,
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
from tests.oracle.writer.framings import AES_CTR
from tests.support.segments.memory_segments import NAME, READ, SCHEMA_TEXT, TABLE_ID

SCHEMA = commitlog.Schema.from_cql(SCHEMA_TEXT)
MIB = 1 << 20


def read(framing: Framing, how: str, *paths: Path) -> dict[str, int]:
    """Mutations, gaps, and the resident memory before and at most, in KiB."""
    keys = json.dumps({alias: key.hex() for alias, key in framing.keys.items()})
    done = subprocess.run(
        [sys.executable, "-c", READ, os.pathsep.join(map(str, paths)), SCHEMA_TEXT, keys, how],
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, int] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    "framing",
    [
        pytest.param(
            each, id=each.name, marks=() if each in (PLAIN, LZ4, AES_CTR) else pytest.mark.slow
        )
        for each in FRAMINGS
    ],
)
def test_a_segment_of_32_mib_with_mutations_of_16_mib(framing: Framing, tmp_path: Path) -> None:
    """The reader holds one record, or one section, stored and decoded, of which noise makes the
    largest; 80 MB are for the whole process."""
    value = random.Random(1).randbytes(16 * MIB - 4096)
    payload = mutation(update(TABLE_ID, insert(1, value)))
    path = tmp_path / NAME
    path.write_bytes(write_segment([[payload], [payload]], framing=framing).data)
    found = read(framing, "scan", path)
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


@pytest.mark.parametrize("framing", FRAMINGS, ids=lambda framing: framing.name)
def test_a_damaged_block_that_claims_much_takes_no_memory(framing: Framing, tmp_path: Path) -> None:
    """So large a block that its compressor could make as much of it, were it not damaged; and one
    whose length alone is damaged."""
    paths = []
    for length, claim in ((2, 40 * MIB), (2, 500 * MIB), (2, 0x7FFFFFFF), (0, 0x7FFFFFFE)):
        value = random.Random(1).randbytes(length * MIB)
        payload = mutation(update(TABLE_ID, insert(1, value)))
        segment = write_segment([[payload], [payload]], framing=framing)
        data = bytearray(segment.data)
        start = segment.markers[0] + MARKER_LENGTH
        data[start : start + 4] = be32(claim)
        if length:
            data[start + MIB] ^= 1
        paths.append(tmp_path / str(claim) / NAME)
        paths[-1].parent.mkdir()
        paths[-1].write_bytes(data)
    found = read(framing, "scan", *paths)
    assert found["gaps"] >= 3
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
    found = read(PLAIN, "read", path)
    assert found["peak"] - found["before"] < 16 * 1024, found


def test_a_marker_that_claims_4_gib_takes_no_memory(tmp_path: Path) -> None:
    start = header(7, 1)
    path = tmp_path / NAME
    path.write_bytes(start + marker(1, len(start), 0xFFFFFFFF) + bytes(100))
    found = read(PLAIN, "scan", path)
    assert found["gaps"] == 1
    assert found["peak"] - found["before"] < 16 * 1024, found
