"""Memory of the reader for any content of a segment. Each read is a separate process."""

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
    """Mutations, gaps, and the initial and peak resident memory in KiB."""
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
def test_large_mutations_take_bounded_reader_memory(framing: Framing, tmp_path: Path) -> None:
    """The reader holds one record, or one section, stored and decoded; noise makes it as large as
    possible. The whole process takes at most 80 MB."""
    value = random.Random(1).randbytes(16 * MIB - 4096)
    payload = mutation(update(TABLE_ID, insert(1, value)))
    path = tmp_path / NAME
    path.write_bytes(write_segment([[payload], [payload]], framing=framing).data)
    found = read(framing, "scan", path)
    assert (found["mutations"], found["gaps"]) == (2, 0)
    assert found["peak"] * 1024 < 80_000_000, found


@pytest.mark.parametrize("framing", FRAMINGS, ids=lambda framing: framing.name)
def test_section_claiming_2_gib_takes_no_memory(framing: Framing, tmp_path: Path) -> None:
    """The reader trusts no length before it has the bytes."""
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
def test_damaged_block_with_huge_length_takes_no_memory(framing: Framing, tmp_path: Path) -> None:
    """One block is large enough for its compressor to produce the claimed length if it were intact;
    in another only the length is damaged."""
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


def test_huge_lengths_in_a_payload_take_no_memory(tmp_path: Path) -> None:
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


def test_marker_claiming_4_gib_takes_no_memory(tmp_path: Path) -> None:
    start = header(7, 1)
    path = tmp_path / NAME
    path.write_bytes(start + marker(1, len(start), 0xFFFFFFFF) + bytes(100))
    found = read(PLAIN, "scan", path)
    assert found["gaps"] == 1
    assert found["peak"] - found["before"] < 16 * 1024, found
