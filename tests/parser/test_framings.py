"""Compressed and encrypted segments: read, damaged, hostile, and with keys that do not fit."""

import resource
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

import commitlog
from tests.parser import framings
from tests.parser.framings import FRAMINGS, Stored
from tests.parser.test_damage import NAME, SCHEMA, flips, is_lost_in, mutations, position, read
from tests.writer import be32, marker

SECTIONS = [mutations(0, 6), mutations(6, 1), [], mutations(7, 5)]
ENCRYPTED = (framings.CBC, framings.CTR)
every_framing = pytest.mark.parametrize("stored", FRAMINGS, ids=lambda each: each.name)
every_cipher = pytest.mark.parametrize("stored", ENCRYPTED, ids=lambda each: each.name)


def markers(data: bytes, start: int) -> Iterator[int]:
    """File offsets of all markers, and the end of the file."""
    while start < len(data):
        yield start
        start = int.from_bytes(data[start : start + 4], "big")
    yield start


@every_framing
def test_what_is_written_is_read(stored: Stored, tmp_path: Path) -> None:
    lines, gaps = read(stored.segment(SECTIONS), tmp_path, keys=stored.keys)
    plain, _ = read(stored.segment(SECTIONS), tmp_path, keys=stored.keys, complete=False)
    assert gaps == []
    assert lines == plain
    assert [b"value-%d" % number for number in range(12)] == [
        bytes.fromhex(line.decode().rsplit('"val":"', 1)[1].split('"')[0]) for line in lines
    ]


@every_framing
def test_any_flipped_bit_behind_the_header(stored: Stored, tmp_path: Path) -> None:
    """What is lost lies in gaps, and is one section at most; what comes is at its own position."""
    whole = stored.segment(SECTIONS)
    lines, _ = read(whole, tmp_path, keys=stored.keys)
    start = len(stored.header())
    for bit, damaged in flips(whole, iter(range(start * 8, len(whole) * 8))):
        found, gaps = read(damaged, tmp_path, keys=stored.keys)
        assert set(found) <= set(lines), f"bit {bit}: something else came out"
        missing = [line for line in lines if line not in found]
        assert all(is_lost_in(line, gaps) for line in missing), f"bit {bit}: {gaps}"
        assert len(missing) <= 6, f"bit {bit}: {gaps}"


@every_framing
def test_a_zeroed_range_loses_what_it_touches(stored: Stored, tmp_path: Path) -> None:
    """Sixteen bytes anywhere but on a whole marker, which ends the chain by the format: sections
    before stay, nothing wrong comes out, and what is lost is said."""
    whole = stored.segment(SECTIONS)
    lines, _ = read(whole, tmp_path, keys=stored.keys)
    places = list(markers(whole, len(stored.header())))
    before = dict(zip(places, (0, 6, 7, 7, 12), strict=True))
    for at in range(len(stored.header()), len(whole) - 16, 5):
        damaged = whole[:at] + bytes(16) + whole[at + 16 :]
        if any(damaged[place : place + 8] == bytes(8) for place in places):
            continue
        found, gaps = read(damaged, tmp_path, keys=stored.keys)
        first = max(place for place in places if place <= at)
        assert found[: before[first]] == lines[: before[first]], at
        known = {line.split(b'"update":', 1)[1] for line in lines}
        assert {line.split(b'"update":', 1)[1] for line in found} <= known, at
        assert len(found) == len(lines) or gaps, at


@every_framing
def test_cut_at_any_byte(stored: Stored, tmp_path: Path) -> None:
    whole = stored.segment(SECTIONS)
    lines, _ = read(whole, tmp_path, keys=stored.keys)
    for length in range(len(stored.header()), len(whole)):
        for complete in (True, False):
            found, gaps = read(whole[:length], tmp_path, keys=stored.keys, complete=complete)
            assert found == lines[: len(found)]
            assert complete or not gaps


@every_framing
def test_every_record_end_is_a_place_to_resume(stored: Stored, tmp_path: Path) -> None:
    whole = stored.segment(SECTIONS)
    lines, _ = read(whole, tmp_path, keys=stored.keys)
    for line, following in pairwise(lines):
        reader = commitlog.SegmentReader(
            str(tmp_path / NAME), position=position(line), keys=stored.keys
        )
        assert reader.dump(SCHEMA, max_bytes=1) == following + b"\n"
        assert reader.gaps == []


@every_framing
def test_a_damaged_section_before_the_position_moves_nothing(
    stored: Stored, tmp_path: Path
) -> None:
    """Its length is not believed when the reader passes over it either."""
    whole = bytearray(stored.segment(SECTIONS))
    lines, _ = read(bytes(whole), tmp_path, keys=stored.keys)
    length = len(stored.header()) + 8
    for bit in range(32):
        damaged = bytearray(whole)
        damaged[length + bit // 8] ^= 1 << bit % 8
        path = tmp_path / NAME
        path.write_bytes(damaged)
        reader = commitlog.SegmentReader(str(path), position=position(lines[6]), keys=stored.keys)
        rest = b""
        while chunk := reader.dump(SCHEMA):
            rest += chunk
        assert rest.splitlines() == lines[7:], bit


_HOSTILE = """
import resource, sys
import commitlog
schema = commitlog.Schema.from_cql(sys.argv[2])
keys = {"testing:1": bytes(range(16))}
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
reader = commitlog.SegmentReader(sys.argv[1], keys=keys)
while reader.dump(schema):
    pass
assert reader.gaps
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@every_framing
def test_hostile_lengths_allocate_nothing(stored: Stored, tmp_path: Path) -> None:
    """A section, and in it a block or a chunk, that claims two gibibytes."""
    huge = be32((1 << 31) - 1)
    start = stored.header()
    blocks = {
        "LZ4Compressor": b"\xff\xff\xff\x7f" + b"\xf0" + b"\xff" * 200,
        "SnappyCompressor": b"\xff\xff\xff\xff\x07" + b"\xfe\x01\x00" * 60,
        "ZstdCompressor": bytes.fromhex("28b52ffd 84 00 ff ff ff 7f".replace(" ", "")) + bytes(99),
    }
    block = blocks.get(stored.name, huge + huge + bytes(200))
    stored_section = huge + block
    data = start + marker(1, len(start), len(start) + 8 + len(stored_section)) + stored_section
    path = tmp_path / NAME
    path.write_bytes(data)
    schema = "CREATE TABLE k.t (p text PRIMARY KEY) WITH ID = 5a1c395e-b41f-11e5-9f22-ba0be0483c18"
    limit = 4 << 30
    done = subprocess.run(
        [sys.executable, "-c", _HOSTILE, str(path), schema],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert done.returncode == 0 or "key" in done.stderr, done.stderr
    if done.returncode == 0:
        assert int(done.stdout) < 20_000, "KiB"


@every_cipher
def test_a_key_that_is_missing_is_named(stored: Stored, tmp_path: Path) -> None:
    with pytest.raises(commitlog.SegmentKeyError) as caught:
        read(stored.segment(SECTIONS), tmp_path, keys={"other": framings.KEY})
    assert (
        str(caught.value) == f'{NAME}: the key "Testing:1" of this encrypted segment is not given'
    )
    assert caught.value.alias == "Testing:1"


@every_cipher
def test_another_key_is_one_error_and_no_damage(stored: Stored, tmp_path: Path) -> None:
    for damage in (None, len(stored.header()) + 30):
        data = bytearray(stored.segment(SECTIONS * 50))
        if damage is not None:
            data[damage] ^= 1
        path = tmp_path / NAME
        path.write_bytes(data)
        reader = commitlog.SegmentReader(str(path), keys={"testing:1": bytes(16)})
        with pytest.raises(commitlog.SegmentKeyError, match="is not the one that was given"):
            reader.dump(SCHEMA)
        assert reader.gaps == []


@every_cipher
def test_the_right_key_is_known_in_spite_of_damage(stored: Stored, tmp_path: Path) -> None:
    """The first section's only chunk is damaged where keys are told apart."""
    data = bytearray(stored.segment([mutations(0, 1), mutations(1, 1)]))
    data[len(stored.header()) + 8 + 4 + 8] ^= 1
    lines, gaps = read(bytes(data), tmp_path, keys=stored.keys)
    assert len(lines) == 1
    assert [gap.cause for gap in gaps] == ["an encrypted chunk is damaged"]


@every_cipher
def test_keys_of_other_sizes(stored: Stored, tmp_path: Path) -> None:
    with pytest.raises(commitlog.SegmentKeyError, match="it has 5 bytes, and AES takes 16, 24 or"):
        read(stored.segment(SECTIONS), tmp_path, keys={"testing:1": bytes(5)})


@pytest.mark.parametrize(
    ("parameters", "what"),
    [
        ({"compressionClass": "com.example.OwnCompressor"}, "com.example.OwnCompressor"),
        ({"compressionClass": "ZstdDictionaryCompressor"}, "ZstdDictionaryCompressor"),
        ({"encCipher": "AES/ECB/PKCS5Padding"}, "AES/ECB/PKCS5Padding, which is not known"),
        ({"encCipher": "AES/GCM/NoPadding"}, "AES/GCM/NoPadding"),
        ({"encCipher": "DESede/CBC/PKCS5Padding"}, "DESede/CBC/PKCS5Padding"),
        ({"encCipher": "AES/CBC/PKCS5Padding", "encIV": "00"}, "has 1 bytes"),
        ({"encCipher": "AES/CBC/PKCS5Padding", "encIV": "zz"}, "has 0 bytes"),
    ],
)
def test_what_is_not_known_is_refused_by_name(
    parameters: dict[str, object], what: str, tmp_path: Path
) -> None:
    if "encCipher" in parameters:
        parameters = {"encKeyAlias": "k", "encIV": "00" * 16, **parameters}
    data = Stored("other", parameters, bytes, {}).segment(SECTIONS)
    with pytest.raises(commitlog.UnsupportedFeatureError) as caught:
        read(data, tmp_path, keys={"k": bytes(16)})
    assert NAME in str(caught.value)
    assert what in str(caught.value)


def test_java_does_not_look_at_the_case_of_a_cipher(tmp_path: Path) -> None:
    parameters = {**framings.CBC.parameters, "encCipher": "aes/cbc/pkcs5padding"}
    data = Stored("cbc", parameters, framings.CBC.store, {}).segment(SECTIONS)
    lines, gaps = read(data, tmp_path, keys=framings.CBC.keys)
    assert (len(lines), gaps) == (12, [])
