"""Compressed and encrypted segments: intact, damaged, hostile, and with wrong keys."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import commitlog
from tests.oracle.writer import FRAMINGS as ALL_FRAMINGS
from tests.oracle.writer import header, insert, mutation, update, write_segment
from tests.oracle.writer.framings import (
    DEFLATE,
    KEY,
    LZ4,
    NOOP,
    PLAIN,
    SNAPPY,
    ZSTD,
    Framing,
    aes_cbc,
    aes_cfb,
    aes_ctr,
    aes_ofb,
)
from tests.support.segments.damaged_segments import (
    NAME,
    SCHEMA,
    TABLE,
    flips,
    is_lost_in,
    mutations,
    position,
    read,
)
from tests.support.segments.segment_reading import dump, overwrite

pytestmark = pytest.mark.heavy

SECTIONS = [mutations(0, 6), mutations(6, 1), [], mutations(7, 5)]
# Chunks so small that a section has several.
ENCRYPTED = (aes_cbc(128), aes_cfb(128), aes_ofb(128), aes_ctr(128))
FRAMINGS = (PLAIN, LZ4, SNAPPY, DEFLATE, ZSTD, NOOP, *ENCRYPTED)
every_framing = pytest.mark.parametrize("framing", FRAMINGS, ids=lambda each: each.name)
every_cipher = pytest.mark.parametrize("framing", ENCRYPTED, ids=lambda each: each.name)


def segment(framing: Framing, sections: Iterable[Sequence[bytes]] = SECTIONS) -> bytes:
    return write_segment(sections, framing=framing).data


def start_of(framing: Framing) -> bytes:
    """The header of a segment with this framing."""
    return header(7, 1, framing.parameters)


@every_framing
def test_round_trip(framing: Framing, tmp_path: Path) -> None:
    lines, gaps = read(segment(framing), tmp_path, keys=framing.keys)
    plain, _ = read(segment(framing), tmp_path, keys=framing.keys, complete=False)
    assert (gaps, lines) == ([], plain)
    assert [b"value-%d" % number for number in range(12)] == [
        bytes.fromhex(line.decode().rsplit('"val":"', 1)[1].split('"')[0]) for line in lines
    ]


@every_framing
def test_flipped_bit_after_header_loses_at_most_one_section(
    framing: Framing, tmp_path: Path
) -> None:
    """Lost records lie in the reported gaps; found records keep their positions."""
    whole = segment(framing)
    lines, _ = read(whole, tmp_path, keys=framing.keys)
    start = len(start_of(framing))
    for bit, damaged in flips(whole, iter(range(start * 8, len(whole) * 8))):
        found, gaps = read(damaged, tmp_path, keys=framing.keys)
        assert set(found) <= set(lines), f"bit {bit}: something else came out"
        missing = [line for line in lines if line not in found]
        assert all(is_lost_in(line, gaps) for line in missing), f"bit {bit}: {gaps}"
        assert len(missing) <= 6, f"bit {bit}: {gaps}"


@every_framing
def test_zeroed_range_loses_only_touched_records(framing: Framing, tmp_path: Path) -> None:
    """Zeroes 16 bytes anywhere except on a whole marker, because a zeroed marker ends the chain.
    Earlier sections stay readable, no wrong record is returned, and losses are reported."""
    written = write_segment(SECTIONS, framing=framing)
    whole, places = written.data, (*written.markers, written.chain_end)
    lines, _ = read(whole, tmp_path, keys=framing.keys)
    before = dict(zip(places, (0, 6, 7, 7, 12), strict=True))
    for at in range(len(start_of(framing)), written.chain_end - 16, 5):
        damaged = whole[:at] + bytes(16) + whole[at + 16 :]
        if any(damaged[place : place + 8] == bytes(8) for place in places):
            continue
        found, gaps = read(damaged, tmp_path, keys=framing.keys)
        first = max(place for place in places if place <= at)
        assert found[: before[first]] == lines[: before[first]], at
        known = {line.split(b'"update":', 1)[1] for line in lines}
        assert {line.split(b'"update":', 1)[1] for line in found} <= known, at
        assert len(found) == len(lines) or gaps, at


@every_framing
def test_truncated_segment_yields_leading_records(framing: Framing, tmp_path: Path) -> None:
    whole = segment(framing)
    lines, _ = read(whole, tmp_path, keys=framing.keys)
    for length in range(len(start_of(framing)), len(whole)):
        for complete in (True, False):
            found, gaps = read(whole[:length], tmp_path, keys=framing.keys, complete=complete)
            assert found == lines[: len(found)]
            assert complete or not gaps


@every_framing
def test_damaged_length_before_position_does_not_move_reader(
    framing: Framing, tmp_path: Path
) -> None:
    whole = bytearray(segment(framing))
    lines, _ = read(bytes(whole), tmp_path, keys=framing.keys)
    length = len(start_of(framing)) + 8
    for bit in range(32):
        damaged = bytearray(whole)
        damaged[length + bit // 8] ^= 1 << bit % 8
        path = tmp_path / NAME
        overwrite(path, damaged)
        reader = commitlog.SegmentReader(str(path), position=position(lines[6]), keys=framing.keys)
        rest = b""
        while chunk := reader.dump(SCHEMA):
            rest += chunk
        assert rest.splitlines() == lines[7:], bit


@every_cipher
def test_missing_key_is_reported(framing: Framing, tmp_path: Path) -> None:
    with pytest.raises(commitlog.SegmentKeyError) as caught:
        read(segment(framing), tmp_path, keys={"other": KEY})
    assert str(caught.value) == f'{NAME}: the key "Testing:1" of this encrypted segment is missing'
    assert caught.value.alias == "Testing:1"


@every_cipher
def test_wrong_key_is_one_error_and_no_damage(framing: Framing, tmp_path: Path) -> None:
    for damage in (None, len(start_of(framing)) + 30):
        data = bytearray(segment(framing, SECTIONS * 50))
        if damage is not None:
            data[damage] ^= 1
        path = tmp_path / NAME
        overwrite(path, data)
        reader = commitlog.SegmentReader(str(path), keys={"testing:1": bytes(16)})
        with pytest.raises(
            commitlog.SegmentKeyError, match="is wrong: it decrypts no chunk of the segment"
        ):
            reader.dump(SCHEMA)
        assert reader.gaps == []


@every_cipher
def test_right_key_is_recognized_despite_damage(framing: Framing, tmp_path: Path) -> None:
    """The damaged chunk is the one by which the reader checks keys."""
    data = bytearray(segment(framing, [mutations(0, 1), mutations(1, 1)]))
    data[len(start_of(framing)) + 8 + 4 + 8] ^= 1
    lines, gaps = read(bytes(data), tmp_path, keys=framing.keys)
    assert (len(lines), [gap.cause for gap in gaps]) == (1, ["an encrypted chunk is damaged"])


@every_cipher
def test_key_of_invalid_size_is_rejected(framing: Framing, tmp_path: Path) -> None:
    with pytest.raises(commitlog.SegmentKeyError, match="it has 5 bytes; AES needs 16, 24 or"):
        read(segment(framing), tmp_path, keys={"testing:1": bytes(5)})


@pytest.mark.parametrize(
    ("parameters", "what"),
    [
        ({"compressionClass": "com.example.OwnCompressor"}, "com.example.OwnCompressor"),
        ({"compressionClass": "ZstdDictionaryCompressor"}, "ZstdDictionaryCompressor"),
        ({"encCipher": "AES/ECB/PKCS5Padding"}, "AES/ECB/PKCS5Padding, which is not supported"),
        ({"encCipher": "AES/GCM/NoPadding"}, "AES/GCM/NoPadding"),
        ({"encCipher": "DESede/CBC/PKCS5Padding"}, "DESede/CBC/PKCS5Padding"),
        ({"encCipher": "AES/CBC/PKCS5Padding", "encIV": "00"}, "has 1 bytes"),
        ({"encCipher": "AES/CBC/PKCS5Padding", "encIV": "zz"}, "has 0 bytes"),
    ],
)
def test_unknown_header_parameters_are_rejected_by_name(
    parameters: dict[str, object], what: str, tmp_path: Path
) -> None:
    if "encCipher" in parameters:
        parameters = {"encKeyAlias": "k", "encIV": "00" * 16, **parameters}
    data = segment(replace(NOOP, parameters=json.dumps(parameters).encode()))
    with pytest.raises(commitlog.UnsupportedFeatureError) as caught:
        read(data, tmp_path, keys={"k": bytes(16)})
    assert NAME in str(caught.value)
    assert what in str(caught.value)


def test_cipher_name_is_case_insensitive(tmp_path: Path) -> None:
    framing = aes_cbc(128)
    parameters = {**json.loads(framing.parameters), "encCipher": "aes/cbc/pkcs5padding"}
    data = segment(replace(framing, parameters=json.dumps(parameters).encode()))
    lines, gaps = read(data, tmp_path, keys=framing.keys)
    assert (len(lines), gaps) == (12, [])


KIB = 1 << 10
CHUNK_ENDS = (256 * KIB, 1024 * KIB)
SIZES = {
    "first of the file": [[3000 * KIB]],
    "first of a section": [[1], [3000 * KIB], [1]],
    "behind a small one": [[1, 3000 * KIB, 1], [1]],
    "one behind the other": [[1500 * KIB, 300 * KIB, 3000 * KIB]],
    "as large as a chunk": [[1024 * KIB, 1, 1024 * KIB], [1, 1024 * KIB - 12]],
}
VARIED = {"behind a small one", "as large as a chunk"}
"""The other sizes run only in `make test-all`."""


def check(sections: list[list[int]], framing: Framing, folder: Path) -> None:
    """Check a segment whose `sections` contain values of these lengths."""
    payloads = [[mutation(update(TABLE, insert(7, b"v" * n))) for n in sizes] for sizes in sections]
    segment = write_segment(payloads, framing=framing)
    path = folder / NAME
    path.write_bytes(segment.data)
    dumped = dump(path, SCHEMA, keys=framing.keys)
    assert dumped.gaps == []
    values = [line["items"][0]["cells"][0]["val"] for line in dumped.lines]
    assert [len(value) // 2 for value in values] == [n for sizes in sections for n in sizes]
    assert [line["pos"] for line in dumped.lines] == [p for e in segment.record_ends for p in e]


@pytest.mark.parametrize("framing", ALL_FRAMINGS, ids=lambda framing: framing.name)
@pytest.mark.parametrize(
    "sections",
    [
        pytest.param(sizes, id=name, marks=() if name in VARIED else pytest.mark.slow)
        for name, sizes in SIZES.items()
    ],
)
def test_large_records_are_read_whole(
    sections: list[list[int]], framing: Framing, tmp_path: Path
) -> None:
    check(sections, framing, tmp_path)


@pytest.mark.parametrize("chunk_end", CHUNK_ENDS)
def test_record_header_across_chunk_boundary_is_read(chunk_end: int, tmp_path: Path) -> None:
    overhead = len(mutation(update(TABLE, insert(7, bytes(chunk_end))))) + 12 - chunk_end
    for behind in range(-2, 14):
        check([[chunk_end - overhead - behind, 2000 * KIB, 1]], PLAIN, tmp_path)
