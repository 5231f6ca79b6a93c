"""Segments opened with the keys of a keystore."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agent.keystore.source import KeySource
from commitlog import SegmentKeyError, SegmentReader


def open_segment(
    path: Path, name: str, keystore: KeySource, position: int = 0, *, follow_links: bool = True
) -> SegmentReader:
    """A reader; the keystore is looked at for encrypted segments only. Raises as `SegmentReader`,
    and `SegmentKeyError` with what to do about it."""
    try:
        return SegmentReader(str(path), name=name, position=position, follow_links=follow_links)
    except SegmentKeyError:
        with with_key_advice(keystore):
            keys = keystore.keystore().keys
            return SegmentReader(
                str(path), name=name, position=position, keys=keys, follow_links=follow_links
            )


@contextmanager
def with_key_advice(keystore: KeySource) -> Iterator[None]:
    """Adds to a `SegmentKeyError` what the keystore has to do with it."""
    try:
        yield
    except SegmentKeyError as error:
        advice = keystore.keystore().advice(error.alias)
        raise SegmentKeyError(f"{error}; {advice}", error.alias) from None
