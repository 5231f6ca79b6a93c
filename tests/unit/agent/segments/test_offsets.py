import javaproperties
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.cdc_raw.names import SegmentName
from agent.segments.offsets import SegmentOffsets, offsets_from_entries
from sidecar.errors import ConfigError, OffsetStoreError
from sidecar.offsets.properties_store import decode, encode

NAMES = st.builds(SegmentName, id=st.integers(0, (1 << 63) - 1), version=st.integers(6, 9))


def name(segment_id: int) -> SegmentName:
    return SegmentName(segment_id, 7)


def test_offset_entries_are_human_readable() -> None:
    ledger = SegmentOffsets("host-1").advanced(name(1699), 40961).finished(name(1698))
    assert ledger.to_entries() == {
        "node.id": "host-1",
        "CommitLog-7-1699.log": "40961",
        "CommitLog-7-1698.log": "COMPLETED",
    }


@given(st.dictionaries(NAMES, st.one_of(st.none(), st.integers(0, 1 << 40)), max_size=20))
def test_offset_entries_survive_round_trip(progress: dict[SegmentName, int | None]) -> None:
    ledger = SegmentOffsets("host-1")
    for segment, position in progress.items():
        if position is None:
            ledger = ledger.finished(segment)
        else:
            ledger = ledger.advanced(segment, position)
    again = offsets_from_entries(ledger.to_entries(), "host-1")
    assert again == ledger
    for segment, position in progress.items():
        assert again.is_completed(segment) == (position is None)
        assert again.position(segment) == (position or 0)


@given(
    st.dictionaries(NAMES, st.tuples(st.integers(1, 1 << 40), st.integers(0, 0xFFFFFFFF))),
    st.data(),
)
def test_fingerprints_are_stored_invisibly_to_older_releases(
    progress: dict[SegmentName, tuple[int, int]], data: st.DataObject
) -> None:
    ledger = SegmentOffsets("host-1")
    for segment, (position, fingerprint) in progress.items():
        ledger = ledger.advanced(segment, position, fingerprint)
    finished = data.draw(st.sets(st.sampled_from(sorted(progress)))) if progress else set()
    ledger = ledger.finished(*finished)
    file = encode(ledger.to_stored())
    assert offsets_from_entries(decode(file), "host-1") == ledger
    assert ledger.fingerprints == {
        name: fingerprint for name, (_, fingerprint) in progress.items() if name not in finished
    }
    # Releases before fingerprints read the file as properties.
    assert javaproperties.loads(file.decode("ascii")) == ledger.to_entries()


@pytest.mark.parametrize("value", ["", "xyz", "123", "1a2b3c4d5e"])
def test_invalid_fingerprint_is_ignored(value: str) -> None:
    entries = {"node.id": "host-1", "CommitLog-7-1.log": "40"}
    stored = {**entries, "#fingerprint.CommitLog-7-1.log": value}
    assert offsets_from_entries(stored, "host-1") == offsets_from_entries(entries, "host-1")


def test_segment_offset_never_decreases() -> None:
    ledger = SegmentOffsets("host-1").advanced(name(1), 40)
    assert ledger.advanced(name(1), 39) is ledger
    assert ledger.advanced(name(1), 41).position(name(1)) == 41
    done = ledger.finished(name(1))
    assert done.advanced(name(1), 50) is done
    assert done.position(name(1)) == 0


def test_trim_drops_oldest_absent_segments_first() -> None:
    ledger = SegmentOffsets("host-1").advanced(name(4), 7)
    for segment_id in (1, 2, 3, 5):
        ledger = ledger.finished(name(segment_id))
    trimmed = ledger.trimmed(present={name(1)}, limit=2)
    assert trimmed.completed == {name(1), name(5)}
    assert trimmed.positions == {name(4): 7}
    assert trimmed.trimmed(present={name(1)}, limit=2) is trimmed


def test_empty_offset_store_is_a_fresh_start() -> None:
    assert offsets_from_entries({}, "host-1") == SegmentOffsets("host-1")


@pytest.mark.parametrize("stored", [{"node.id": "host-2"}, {"CommitLog-7-1.log": "5"}])
def test_offsets_of_another_node_are_rejected(stored: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="host-1"):
        offsets_from_entries(stored, "host-1")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("CommitLog-7-1.log", "-5"),
        ("CommitLog-7-1.log", "completed"),
        ("CommitLog-7-1.log", ""),
        ("CommitLog-7-1.log", "\u0661"),
        ("CommitLog-1.log", "5"),
        ("ks.table", "CommitLog-7-1.log:5"),
    ],
)
def test_invalid_offset_entries_are_rejected(key: str, value: str) -> None:
    with pytest.raises(OffsetStoreError, match="neither"):
        offsets_from_entries({"node.id": "host-1", key: value}, "host-1")
