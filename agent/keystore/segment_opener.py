"""Opens segments, with keys for encrypted ones."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agent.keystore.source import KeySource
from commitlog import SegmentKeyError, SegmentReader


def open_segment(
    path: Path, name: str, keystore: KeySource, position: int = 0, *, follow_links: bool = True
) -> SegmentReader:
    """Reads the keystore only for encrypted segments. Raises as `SegmentReader`; `SegmentKeyError`
    includes the remedy."""
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
    """Adds the remedy to a `SegmentKeyError`."""
    try:
        yield
    except SegmentKeyError as error:
        advice = keystore.keystore().advice(error.alias)
        raise SegmentKeyError(f"{error}; {advice}", error.alias) from None
