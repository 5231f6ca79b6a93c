"""Errors of the Spark jobs. Their policies and exit codes follow `sidecar.errors`.

    SidecarError
    ├── ConfigError              2   an option is invalid
    └── JobError                 1   a job cannot continue
        ├── SetupError           2   a jar, a package or a program is missing
        ├── CheckpointError      2   the checkpoint belongs to another job
        └── InputError           6   a record is not an event of the supported format

A message states what failed, where, and what to do. `mapped_error` maps Spark exceptions with a
known cause to these errors.
"""

import re

from sidecar.errors import SidecarError

MESSAGE_PREFIX = "cdc: "
"""Marks the jobs' own messages in exceptions of Spark."""
_RAISED = re.compile(
    rf"(?:\[USER_RAISED_EXCEPTION\]|\b(?P<kind>InputError|JobError):) {MESSAGE_PREFIX}"
    r"(?P<message>[^\n]*)"
)
_MERGE = re.compile(
    r"^\s*(?:commitlog\.errors\.MalformedValueError: |ValueError: (?=The value ))(?P<message>.*)$",
    re.MULTILINE,
)
"""An error from `spark_jobs.merge` in a Python worker."""
_CASSANDRA = re.compile(r"^cassandra\.(?P<message>\S+: .*)$", re.MULTILINE)
"""An error from cassandra-driver in a Python worker."""
_CONFLICT = "DELTA_CONCURRENT_"
_REMOVED_VERSION = re.compile(
    r"FAILED_READ_FILE\.FILE_NOT_EXIST|DELTA_(?:FILE_NOT_FOUND|LOG_FILE_NOT_FOUND|VERSION_NOT_FOUND"
    r"|TRUNCATED_TRANSACTION_LOG|UNSUPPORTED_TIME_TRAVEL_BEYOND_DELETED_FILE_RETENTION)"
)
_NO_SOURCE = "Failed to find data source: kafka"
_NO_TOPIC = re.compile(
    r"UnknownTopicOrPartitionException|does not host this topic|PartitionDoesNotExist"
)
_NO_TARGET = re.compile(
    r"TimeoutException: (?P<place>Topic|Partition \d+ of topic) (?P<topic>\S+) .*not present in"
    r" metadata"
)
_LOST_RECORDS = ("[KAFKA_DATA_LOSS.", "KafkaIllegalStateException: ")
"""An error in the driver contains Spark's error class, an error in a task only the Java class."""
_REASON = re.compile(r"Reason:\s*(?P<reason>[^\n]*)")
_STACK = "\n\tat "
_CAUSE = re.compile(r"^Caused by: ([^\n]+)$", re.MULTILINE)
_MOST_LETTERS = 2000
_TOO_LARGE = re.compile(r"RecordTooLargeException: (?P<message>[^\n]*)")


class JobError(SidecarError):
    """A job cannot continue."""


class SetupError(JobError):
    """A jar, a package or a program is missing. The message explains how to install it."""

    exit_code = 2


class CheckpointError(JobError):
    """The checkpoint belongs to another job, or a fixed option has changed."""

    exit_code = 2


class InputError(JobError):
    """A record is not an event, or a required member is missing. The message identifies it."""

    exit_code = 6


def mapped_error(error: BaseException) -> BaseException:
    """Convert an exception with a known cause to a `JobError`. Returns others unchanged."""
    if isinstance(error, SidecarError):
        return error
    text = str(error)
    if raised := _RAISED.search(text):
        kind = JobError if raised["kind"] == "JobError" else InputError
        return kind(_without_sql_state(raised["message"]))
    if merge := _MERGE.search(text):
        return InputError(_without_sql_state(merge["message"]))
    if cassandra := _CASSANDRA.search(text):
        return JobError(
            f"Cassandra rejected or did not answer a read ({cassandra['message'].strip()}). Check "
            "`cassandra.hosts`, the login and its permissions, and that enough replicas are up for "
            "`consistency`. The next run continues after the last group of ranges."
        )
    if _NO_SOURCE in text or "KAFKA_DATA_SOURCE_NOT_ENABLED" in text:
        return SetupError(
            "Spark has no jar for the Kafka source. Fetch the jars with "
            "`python -m spark_jobs.jars DIR` and set `jars.dir=DIR`."
        )
    if "AVRO_NOT_LOADED" in text:
        return SetupError(
            "Spark has no jar for Avro. Fetch the jars with "
            "`python -m spark_jobs.jars DIR` and set `jars.dir=DIR`."
        )
    if target := _NO_TARGET.search(text):
        if target["place"] == "Topic":
            return JobError(f"The target topic {target['topic']} does not exist. Create the topic.")
        return JobError(
            f"The target topic {target['topic']} has fewer partitions than the source topic. "
            "Create it with the same number of partitions, or set `sink.partition.by=key`."
        )
    if too_large := _TOO_LARGE.search(text):
        return JobError(
            f"A message is too large for Kafka: {too_large['message'].strip()} Set "
            "`sink.kafka.max.request.size` and `max.message.bytes` of the target topic to larger "
            "values, and start the job again."
        )
    starts = [text.index(each) for each in _LOST_RECORDS if each in text]
    lost = _REASON.search(text, min(starts)) if starts else None
    if lost is not None:
        return JobError(
            "Kafka no longer has records that this job has not read: "
            f"{_without_sql_state(lost['reason']).rstrip('.')}. Retention removed them, or the "
            "topic was deleted. Their changes are missing from the target. To continue after them, "
            "start the job with `fail.on.data.loss=false`; then start a snapshot of the tables in "
            "the agent, which publishes their current rows. A snapshot contains no deletions. For "
            "an exact copy, start again with a new `checkpoint` and a new target."
        )
    if _NO_TOPIC.search(text):
        return InputError(
            "A topic in `topics` does not exist. Create the topic, or correct its name."
        )
    if _CONFLICT in text:
        return JobError(
            "Another job wrote to the same Delta table at the same time. This job changed nothing, "
            "and no event is lost. Run the two jobs one after the other."
        )
    if is_removed_version(error):
        return JobError(
            "A Delta table no longer has a version that this job reads: VACUUM removed its files, "
            "or Delta Lake removed its log. If the job follows a version store, it was behind for "
            "too long: refill its target with a new `checkpoint`. Start any other job again."
        )
    return error


def reason_text(error: BaseException) -> str:
    """Format the message of `mapped_error` for a log line: without Java's stack trace, which
    precedes the root cause of an unknown error, and at most `_MOST_LETTERS` long."""
    text = str(mapped_error(error))
    if _STACK in text:
        text = [text.split(_STACK, 1)[0], *_CAUSE.findall(text)][-1]
    return text if len(text) <= _MOST_LETTERS else f"{text[:_MOST_LETTERS]}…"


def is_removed_version(error: BaseException) -> bool:
    """Whether the error reports a removed version or file of a Delta table."""
    return _REMOVED_VERSION.search(str(error)) is not None


def _without_sql_state(message: str) -> str:
    return re.sub(r"(?<!\s)\s+SQLSTATE: \w+\s*$", "", message).strip()
