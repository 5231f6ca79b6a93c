"""Remedy for a comparison whose version of the store was removed."""

from collections.abc import Iterator
from contextlib import contextmanager

from spark_jobs.error_mapping import is_removed_version
from spark_jobs.errors import CheckpointError


@contextmanager
def removed_version_explained(state: str) -> Iterator[None]:
    """Raise `CheckpointError` when a version is gone: the next run would read the same one again.

    `state` is the folder of the comparison.
    """
    try:
        yield
    except Exception as error:
        if not is_removed_version(error):
            raise
        raise CheckpointError(
            "The store or the typed table no longer has a version that the comparison reads, "
            f"because VACUUM removed its files. Remove {state} and start again. Set "
            "`delta.deletedFileRetentionDuration` longer than a comparison takes."
        ) from error
