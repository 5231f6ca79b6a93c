"""Stored offsets survive torn, flipped and missing files, and a crash at any step."""

import os
from collections.abc import Callable
from pathlib import Path

import javaproperties
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.errors import OffsetSaveError, OffsetStoreError, Policy
from sidecar.offsets.properties_store import PropertiesStore, decode, encode

FIRST = {"CommitLog-7-1698.log": "COMPLETED", "CommitLog-7-1699.log": "40961"}
SECOND = {"CommitLog-7-1699.log": "COMPLETED", "CommitLog-7-1700.log": "96"}
NAME = "segment_offset.properties"


@pytest.fixture
def store(tmp_path: Path) -> PropertiesStore:
    return PropertiesStore(tmp_path, NAME)


@pytest.fixture
def twice_saved(store: PropertiesStore) -> PropertiesStore:
    store.save(FIRST)
    store.save(SECOND)
    return store


def reopened(store: PropertiesStore) -> PropertiesStore:
    return PropertiesStore(store.path.parent, store.path.name)


def test_empty_store_loads_no_values(store: PropertiesStore) -> None:
    stored = store.load()
    assert (stored.values, stored.recovered_from_previous) == ({}, None)


def test_offset_file_is_human_readable(store: PropertiesStore) -> None:
    store.save({"b.log": "2", "a.log": "1"})
    lines = store.path.read_text().splitlines()
    assert [line for line in lines if not line.startswith("#")] == ["a.log=1", "b.log=2"]


COMMENTS = "#fingerprint."


@given(st.dictionaries(st.text().filter(lambda name: not name.startswith(COMMENTS)), st.text()))
def test_any_text_survives_round_trip(values: dict[str, str]) -> None:
    """Comment entries are excluded because their values are checksums."""
    text = encode(values)
    assert decode(text) == values
    assert javaproperties.loads(text.decode("ascii")) == values


def flipped(whole: bytes, bit: int) -> bytes:
    index, shift = divmod(bit, 8)
    return whole[:index] + bytes([whole[index] ^ 1 << shift]) + whole[index + 1 :]


def test_every_truncation_and_flipped_bit_is_detected() -> None:
    whole = encode(SECOND)
    for length in range(len(whole)):
        with pytest.raises(ValueError, match=r"empty|checksum"):
            decode(whole[:length])
    for bit in range(8 * len(whole)):
        with pytest.raises(ValueError, match="checksum"):
            decode(flipped(whole, bit))


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        *((lambda whole, length=length: whole[:length], "") for length in (0, 1, 70, -1)),
        *(
            (lambda whole, more=more: whole + more, "changed by hand")
            for more in (b"x=1\n", b"\n", b" ", b"\0" * 4096)
        ),
        (lambda whole: None, "it is missing"),
    ],
)
def test_unusable_offset_file_falls_back_to_previous_copy(
    twice_saved: PropertiesStore, changed: Callable[[bytes], bytes | None], reason: str
) -> None:
    content = changed(twice_saved.path.read_bytes())
    twice_saved.path.unlink()
    if content is not None:
        twice_saved.path.write_bytes(content)
    stored = reopened(twice_saved).load()
    assert stored.values == FIRST
    assert str(twice_saved.path) in (stored.recovered_from_previous or "")
    assert reason in (stored.recovered_from_previous or "")


def test_two_damaged_files_are_an_error_with_remedy(twice_saved: PropertiesStore) -> None:
    twice_saved.path.write_bytes(b"")
    twice_saved.previous_path.write_bytes(b"#sha256=0\nx=1\n")
    with pytest.raises(OffsetStoreError) as caught:
        reopened(twice_saved).load()
    message = str(caught.value)
    assert str(twice_saved.path) in message
    assert str(twice_saved.previous_path) in message
    assert "move these files away" in message
    assert caught.value.policy is Policy.STOP


def test_damaged_first_offset_file_is_an_error(store: PropertiesStore) -> None:
    store.save(FIRST)
    store.path.write_bytes(store.path.read_bytes()[:-3])
    with pytest.raises(OffsetStoreError, match="No stored offsets"):
        reopened(store).load()


def test_damaged_offset_file_never_becomes_previous_copy(twice_saved: PropertiesStore) -> None:
    twice_saved.path.write_bytes(b"torn")
    store = reopened(twice_saved)
    store.load()
    store.save({"c": "3"})
    assert decode(store.previous_path.read_bytes()) == FIRST
    assert reopened(store).load().values == {"c": "3"}


def test_save_without_load_retains_intact_previous_copy(twice_saved: PropertiesStore) -> None:
    twice_saved.path.write_bytes(b"torn")
    store = reopened(twice_saved)
    store.save({"c": "3"})
    assert decode(store.previous_path.read_bytes()) == FIRST


class Crash(BaseException):
    """The end of the process at a step of a save."""


@pytest.mark.parametrize("step", ["fsync", "link", "rename", "rename-2", "fsync-2"])
def test_crash_at_any_save_step_leaves_valid_offsets(
    twice_saved: PropertiesStore, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    store = twice_saved
    name, _, nth = step.partition("-")
    calls = {"left": int(nth or "1")}

    def crash_before(function: str) -> None:
        original = getattr(os, function)

        def wrapped(*arguments: object, **options: object) -> object:
            if function == name:
                calls["left"] -= 1
                if calls["left"] == 0:
                    raise Crash
            return original(*arguments, **options)

        monkeypatch.setattr(os, function, wrapped)

    for function in ("fsync", "link", "rename"):
        crash_before(function)
    with pytest.raises(Crash):
        store.save({"third": "3"})
    monkeypatch.undo()
    after = reopened(store)
    assert after.load().values in (SECOND, {"third": "3"})
    assert after.load().recovered_from_previous is None
    after.save({"fourth": "4"})
    assert reopened(store).load().values == {"fourth": "4"}
    leftovers = {path.name for path in store.path.parent.iterdir()}
    assert leftovers == {NAME, f"{NAME}.previous"}


def test_a_half_written_temporary_file_is_harmless(twice_saved: PropertiesStore) -> None:
    (twice_saved.path.parent / f".{NAME}.tmp").write_bytes(encode({"x": "1"})[:20])
    store = reopened(twice_saved)
    assert store.load().values == SECOND
    store.save(FIRST)
    assert reopened(store).load().values == FIRST


def test_save_error_on_full_disk_is_retryable(
    twice_saved: PropertiesStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OffsetSaveError, match="No space left") as caught:
            twice_saved.save({"x": "1"})
    assert caught.value.policy is Policy.RETRY
    assert reopened(twice_saved).load().values == SECOND
    twice_saved.save({"x": "1"})
    assert reopened(twice_saved).load().values == {"x": "1"}


def test_missing_directory_is_a_save_error(store: PropertiesStore) -> None:
    missing = PropertiesStore(store.path.parent / "gone", NAME)
    with pytest.raises(OffsetSaveError, match="No such file"):
        missing.save(FIRST)


def test_save_works_without_hard_links(
    twice_saved: PropertiesStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    twice_saved.save({"x": "1"})
    assert decode(twice_saved.previous_path.read_bytes()) == SECOND


def test_unreadable_offset_file_is_an_error(store: PropertiesStore) -> None:
    store.path.mkdir()
    with pytest.raises(OffsetStoreError, match="cannot be read"):
        store.load()
