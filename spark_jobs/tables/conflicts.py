"""Repeats an action whose commit conflicts with another one."""

import logging
from collections.abc import Callable
from typing import TypeVar

from sidecar.logs import fields
from spark_jobs.errors import JobError
from spark_jobs.tables.format.protocol import TypedTable

logger = logging.getLogger(__name__)
ATTEMPTS = 10
"""More than the commits of both maintenance commands."""
Result = TypeVar("Result")


class ConflictError(JobError):
    """Every attempt conflicted with another commit."""


def repeated(table: TypedTable, act: Callable[[], Result]) -> Result:
    """The result of `act`, which is called again after a conflict. Raises `ConflictError`."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return act()
        except Exception as error:
            if not table.is_conflict(error):
                raise
            last = error
            logger.info("commit repeated", extra=fields(table=table.sql_name, attempt=attempt))
    raise ConflictError(
        f"{table.sql_name}: {ATTEMPTS} attempts conflicted with other commits. Run maintenance "
        "while fewer rows change, or stop the job meanwhile."
    ) from last
