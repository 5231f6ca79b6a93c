"""The bytes of a history file."""

import math
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.history.ring_file import (
    HEADER_BYTES,
    DamagedHistoryError,
    Layout,
    Values,
    decode_file,
    encode_file,
    encode_header,
    rearranged,
)

LAYOUT = Layout(("lag_s", "bytes"), interval_s=60, slots=8)
SAMPLES: dict[int, Values] = {600: (1.5, 2.0), 660: (0.0, 1e12)}


def test_nine_columns_use_120_kilobytes_per_day() -> None:
    assert Layout(tuple("abcdefghi")).file_bytes == 121_472


def test_sample_replaces_sample_of_previous_round() -> None:
    _, found = decode_file(encode_file(LAYOUT, {600: (1.0, 1.0), 600 + 8 * 60: (2.0, 2.0)}))
    assert found == {1080: (2.0, 2.0)}


def test_flipped_byte_is_detected_or_loses_one_sample() -> None:
    content = encode_file(LAYOUT, SAMPLES)
    for place in range(len(content)):
        damaged = content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :]
        if place < HEADER_BYTES:
            with pytest.raises(DamagedHistoryError):
                decode_file(damaged)
            continue
        _, found = decode_file(damaged)
        assert found.items() <= SAMPLES.items()
        assert len(found) >= 1


def test_truncated_file_retains_complete_slots() -> None:
    content = encode_file(LAYOUT, SAMPLES)
    for length in (0, 7, HEADER_BYTES - 1):
        with pytest.raises(DamagedHistoryError):
            decode_file(content[:length])
    end = LAYOUT.offset_of(600) + LAYOUT.slot_bytes
    assert decode_file(content[:end])[1].keys() <= {600, 660}
    assert decode_file(content[:HEADER_BYTES])[1] == {}


def test_unknown_format_version_is_reported() -> None:
    content = bytearray(encode_file(LAYOUT, SAMPLES))
    struct.pack_into("<H", content, 8, 2)
    struct.pack_into("<I", content, HEADER_BYTES - 4, zlib.crc32(content[: HEADER_BYTES - 4]))
    with pytest.raises(DamagedHistoryError, match="format version is 2"):
        decode_file(bytes(content))


def test_columns_of_another_release_are_rearranged() -> None:
    other = Layout(("bytes", "new"), interval_s=60, slots=8)
    found = rearranged(other, *decode_file(encode_file(LAYOUT, SAMPLES)))
    assert {time_s: values[0] for time_s, values in found.items()} == {600: 2.0, 660: 1e12}
    assert all(math.isnan(values[1]) for values in found.values())


def test_samples_of_another_interval_are_ignored() -> None:
    assert rearranged(Layout(LAYOUT.columns, interval_s=10), LAYOUT, SAMPLES) == {}


def test_too_many_columns_are_rejected() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        encode_header(Layout(tuple(f"column_{number}" for number in range(60))))


@given(st.binary(max_size=2000))
def test_arbitrary_bytes_are_reported_as_damage(content: bytes) -> None:
    with pytest.raises(DamagedHistoryError):
        decode_file(content)
