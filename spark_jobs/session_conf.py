"""Settings of a session for one block."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession


@contextmanager
def session_conf(session: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Set `settings` while the block runs. Both formats take the metadata of a commit from them."""
    before = session.conf.getAll
    try:
        for name, value in settings.items():
            session.conf.set(name, value)
        yield
    finally:
        for name in settings:
            if name in before:
                session.conf.set(name, before[name])
            else:
                session.conf.unset(name)
