"""What Spark raises, as an error for people where its cause is known."""

import re

from pyspark.sql import Column
from pyspark.sql import functions as F

from sidecar.errors import SidecarError
from spark_jobs.errors import InputError, JobError, SetupError

MARK = "cdc: "
"""In front of each message that an expression of ours raises inside Spark."""

_RAISED = re.compile(rf"\[USER_RAISED_EXCEPTION\] {MARK}(?P<message>[^\n]*)")
_CONFLICT = "DELTA_CONCURRENT_"
_NO_SOURCE = "Failed to find data source: kafka"
_NO_TOPIC = re.compile(
    r"UnknownTopicOrPartitionException|does not host this topic|PartitionDoesNotExist"
)
_NO_TARGET = re.compile(
    r"TimeoutException: (?:Topic|Partition \d+ of topic) (?P<topic>\S+) .*not present in metadata"
)


def about_record(place: Column, *parts: str | Column) -> Column:
    """What an expression raises that finds fault with a record, whose `place` is
    `topic/partition/offset`."""
    columns = [part if isinstance(part, Column) else F.lit(part) for part in parts]
    return F.concat(F.lit(f"{MARK}The record "), place, *columns)


def known_fault(error: BaseException) -> BaseException:
    """The error for people behind an exception, else the exception itself."""
    if isinstance(error, SidecarError):
        return error
    text = str(error)
    raised = _RAISED.search(text)
    if raised is not None:
        return InputError(_without_sql_state(raised["message"]))
    if _NO_SOURCE in text or "KAFKA_DATA_SOURCE_NOT_ENABLED" in text:
        return SetupError(
            "Spark finds no jar of the Kafka source: fetch the jars by "
            "`python -m spark_jobs.jars DIR` and name the folder by `jars.dir=DIR`."
        )
    target = _NO_TARGET.search(text)
    if target is not None:
        return JobError(
            f"The topic {target['topic']} that events go to does not exist, or has fewer "
            "partitions than the topic they come from: create it, or set `sink.partition.by=key`."
        )
    if _NO_TOPIC.search(text):
        return InputError(
            "A topic that `topics` names does not exist: create it, or correct the name."
        )
    if _CONFLICT in text:
        return JobError(
            "Another job wrote to the same Delta table at the same moment: run the two one after "
            "the other. Nothing was changed by this one, and nothing is lost."
        )
    return error


def _without_sql_state(message: str) -> str:
    return re.sub(r"\s+SQLSTATE: \w+\s*$", "", message).strip()
