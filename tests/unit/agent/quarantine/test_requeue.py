"""Requeue preserves the last copy of a segment, regardless of existing files in `cdc_raw`."""

import os
import stat
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.cdc_raw.names import SegmentName
from agent.quarantine.requeue import requeue

NAME = SegmentName(7, 1)
SEGMENT = bytes(range(256)) * 8
OTHER = SEGMENT[::-1] * 2


def link_to(text: str) -> Callable[[Path], None]:
    return lambda planted: planted.symlink_to(planted.parent.parent / text)


def file_of(content: bytes) -> Callable[[Path], object]:
    return lambda planted: planted.write_bytes(content)


def hard_link_to(text: str) -> Callable[[Path], None]:
    return lambda planted: os.link(planted.parent.parent / text, planted)


PLANTED: dict[str, Callable[[Path], object]] = {
    "nothing": lambda planted: None,
    "a link to the segment itself": link_to(f"quarantine/{NAME.log}"),
    "a link to a larger file": link_to("other"),
    "a link to nothing": link_to("missing"),
    "a hard link to a larger file": hard_link_to("other"),
    "the segment, by the node": hard_link_to(f"quarantine/{NAME.log}"),
    "a directory": Path.mkdir,
    "a pipe": os.mkfifo,
    "the same bytes": file_of(SEGMENT),
    "more than the segment": file_of(SEGMENT + b"later"),
    "a part of the segment": file_of(SEGMENT[:100]),
    "an empty file": file_of(b""),
}


def remaining(folder: Path) -> bool:
    """Whether a regular file has the whole segment."""
    found = [folder / place / NAME.log for place in ("quarantine", "cdc_raw")]
    return any(
        path.exists()
        and stat.S_ISREG(path.lstat().st_mode)
        and path.read_bytes().startswith(SEGMENT)
        for path in found
    )


def attempt(folder: Path, plant: Callable[[Path], object]) -> bool | None:
    """Return the result of `requeue`; None for an error."""
    for each in ("quarantine", "cdc_raw"):
        (folder / each).mkdir()
    (folder / "other").write_bytes(OTHER)
    (folder / "quarantine" / NAME.log).write_bytes(SEGMENT)
    plant(folder / "cdc_raw" / NAME.log)
    try:
        return requeue(folder / "quarantine", NAME, folder / "cdc_raw")
    except OSError:
        return None


@pytest.mark.parametrize("planted", PLANTED)
def test_requeue_preserves_last_copy_despite_planted_file(tmp_path: Path, planted: str) -> None:
    done = attempt(tmp_path, PLANTED[planted])
    assert remaining(tmp_path)
    assert (tmp_path / "other").read_bytes() == OTHER
    is_refused = planted in ("a hard link to a larger file", "a directory")
    assert done is (None if is_refused else True)


@given(st.integers(0, len(SEGMENT)), st.binary(max_size=32))
def test_requeue_accepts_only_existing_files_with_matching_content(
    common: int, rest: bytes
) -> None:
    with TemporaryDirectory() as folder:
        content = SEGMENT[:common] + rest
        done = attempt(Path(folder), file_of(content))
        assert remaining(Path(folder))
        is_same = content.startswith(SEGMENT) or SEGMENT.startswith(content)
        assert done is (True if is_same else None)


def test_oversized_files_are_not_compared(tmp_path: Path) -> None:
    """A comparison of two sparse terabyte files would take 15 minutes."""
    for place in ("quarantine", "cdc_raw"):
        (tmp_path / place).mkdir()
        (tmp_path / place / NAME.log).write_bytes(SEGMENT)
        os.truncate(tmp_path / place / NAME.log, 1 << 40)
    with pytest.raises(FileExistsError, match="too large to compare"):
        requeue(tmp_path / "quarantine", NAME, tmp_path / "cdc_raw")
    assert (tmp_path / "quarantine" / NAME.log).exists()
