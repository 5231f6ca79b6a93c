import json
from pathlib import Path

import pytest

from agent.cdc_raw.names import SegmentName
from agent.quarantine.files import LostRange
from agent.quarantine.quarantine import Quarantine
from sidecar.dead_letters.dead_letter import DeadLetter

NAME = SegmentName(1699, 7)
DAMAGE = LostRange(100, 200, "record payload CRC does not match")


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    raw = tmp_path / "cdc_raw"
    raw.mkdir()
    (raw / NAME.log).write_bytes(b"x" * 1000)
    (raw / NAME.idx).write_bytes(b"5\nCOMPLETED")
    return raw


@pytest.fixture
def quarantine(tmp_path: Path) -> Quarantine:
    return Quarantine(tmp_path / "relocation" / "error", 100_000, "1.2.3")


def ranges(quarantine: Quarantine) -> tuple[LostRange, ...]:
    reason = quarantine.reason(NAME)
    assert reason is not None
    return reason.ranges


def event(reason: str = "too large", text: bytes = b'"v"') -> DeadLetter:
    headers = [("cdc.id", b"\x01\xff"), ("cdc.source", "knoten-\u00e4/1699/5/0".encode())]
    return DeadLetter("shop.ks.t", b'{"id":1}', text, headers, reason)


def test_lost_range_is_recorded_before_segment_is_quarantined(quarantine: Quarantine) -> None:
    assert quarantine.reason(NAME) is None
    assert quarantine.record_ranges(NAME, [DAMAGE])
    document = json.loads((quarantine.directory / f"{NAME.log}.reason.json").read_text())
    assert (document["segment"], document["agent_version"]) == ("CommitLog-7-1699.log", "1.2.3")
    assert document["noted_at"].startswith("20")
    assert document["ranges"] == [
        {"start": 100, "end": 200, "cause": DAMAGE.cause, "table_id": None}
    ]
    assert ranges(quarantine) == (DAMAGE,)


def test_repeated_lost_ranges_are_listed_once(quarantine: Quarantine) -> None:
    quarantine.record_ranges(NAME, [DAMAGE])
    assert not quarantine.record_ranges(NAME, [DAMAGE])
    other = LostRange(200, 260, "no table with this id is known", "t-1")
    assert quarantine.record_ranges(NAME, [DAMAGE, other, LostRange(260, 300, other.cause, "t-1")])
    assert ranges(quarantine) == (DAMAGE, LostRange(200, 300, other.cause, "t-1"))
    assert not quarantine.record_ranges(NAME, [LostRange(260, 300, other.cause, "t-1")])


def test_list_of_lost_ranges_is_bounded(quarantine: Quarantine) -> None:
    quarantine.record_ranges(NAME, [LostRange(10 * n, 10 * n + 5, "damage") for n in range(1500)])
    reason = quarantine.reason(NAME)
    assert reason is not None
    assert (len(reason.ranges), reason.ranges_left_out) == (1000, 500)


MANY = '{"ranges": [' + "[]," * 50_000 + "1]}"
DEEP = "[" * 100_000


@pytest.mark.parametrize(
    "text", ["", "[]", '{"ranges": 5}', "{", '{"ranges": [{"a": 1}]}', MANY, DEEP]
)
def test_invalid_reason_file_counts_as_lost_range(quarantine: Quarantine, text: str) -> None:
    quarantine.directory.mkdir(parents=True)
    (quarantine.directory / f"{NAME.log}.reason.json").write_text(text)
    assert "does not contain a valid reason" in ranges(quarantine)[0].cause
    assert quarantine.record_ranges(NAME, [DAMAGE])
    assert DAMAGE in ranges(quarantine)


def test_quarantine_moves_segment_and_index(quarantine: Quarantine, raw: Path) -> None:
    quarantine.record_ranges(NAME, [DAMAGE])
    for _ in range(2):
        assert quarantine.add_segment(NAME, raw / NAME.log, raw / NAME.idx)
        assert list(raw.iterdir()) == []
    assert (quarantine.directory / NAME.log).read_bytes() == b"x" * 1000
    assert (quarantine.directory / NAME.idx).read_bytes() == b"5\nCOMPLETED"
    assert quarantine.size_bytes() > 1000


def test_full_quarantine_rejects_segment_until_space_is_free(tmp_path: Path, raw: Path) -> None:
    quarantine = Quarantine(tmp_path / "error", 1800, "1.2.3")
    quarantine.record_ranges(NAME, [DAMAGE])
    quarantine.directory.joinpath("CommitLog-7-1.log").write_bytes(b"y" * 900)
    assert not quarantine.add_segment(NAME, raw / NAME.log, raw / NAME.idx)
    assert (raw / NAME.log).exists()
    assert quarantine.record_ranges(NAME, [LostRange(300, None, "more")]), (
        "a reason always has room"
    )
    assert not quarantine.add_dead_letter(NAME.log, event(text=b'"' + b"v" * 2000 + b'"'))
    quarantine.directory.joinpath("CommitLog-7-1.log").unlink()
    assert quarantine.add_segment(NAME, raw / NAME.log, raw / NAME.idx)


def test_quarantined_segment_needs_no_additional_space(tmp_path: Path, raw: Path) -> None:
    quarantine = Quarantine(tmp_path / "error", 1500, "1.2.3")
    assert quarantine.add_segment(NAME, raw / NAME.log, raw / NAME.idx)
    (raw / NAME.log).write_bytes(b"x" * 1000)
    assert quarantine.add_segment(NAME, raw / NAME.log, raw / NAME.idx)


def test_dead_letters_are_appended_as_json_lines(quarantine: Quarantine) -> None:
    assert quarantine.add_dead_letter(NAME.log, event("first"))
    assert quarantine.add_dead_letter(NAME.log, event("second"))
    path = quarantine.directory / f"{NAME.log}.events.ndjson"
    with path.open("ab") as file:
        file.write(b'{"torn')
    assert quarantine.add_dead_letter(NAME.log, event("third"))
    lines = path.read_text().splitlines()
    assert lines.pop(2) == '{"torn'
    documents = [json.loads(line) for line in lines]
    assert [document["reason"] for document in documents] == ["first", "second", "third"]
    assert (documents[0]["topic"], documents[0]["key"]) == ("shop.ks.t", {"id": 1})
    assert documents[0]["value"] == "v"
    assert documents[0]["headers"] == {"cdc.id": "01ff", "cdc.source": "knoten-\u00e4/1699/5/0"}
    assert quarantine.reason(NAME) is None, "the segment itself need not be kept"
