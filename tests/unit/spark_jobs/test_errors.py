"""Errors with remedies for Spark's exceptions."""

import subprocess
import sys
from pathlib import Path

import pytest

from sidecar.errors import ConfigError, SidecarError
from spark_jobs.errors import InputError, JobError, SetupError, mapped_error, reason_text
from tests.support.servers.java import java_home

RAISED = {
    "Caused by: [USER_RAISED_EXCEPTION] cdc: The record t/0/1 has no id. SQLSTATE: P0001\nmore": (
        InputError,
        "The record t/0/1 has no id.",
    ),
    "[PYTHON_EXCEPTION] An exception was thrown from the Python worker: Traceback:\n  File a\n"
    "ValueError: The value {} has no `cells`.\n SQLSTATE: 38000": (
        InputError,
        "The value {} has no `cells`.",
    ),
    "Traceback:\ncommitlog.errors.MalformedValueError: shop.t, column a: 3 bytes; expected 4\n": (
        InputError,
        "shop.t, column a: 3 bytes; expected 4",
    ),
    "Traceback:\ncassandra.cluster.NoHostAvailable: ('Unable to connect to any servers', {})\n": (
        JobError,
        "cluster.NoHostAvailable: ('Unable to connect to any servers', {})). Check",
    ),
    "Traceback:\nValueError: invalid literal for int()": (None, ""),
    "[DATATYPE_MISMATCH] in concat(cdc: The record , x)": (None, ""),
    "Failed to find data source: kafka. Deploy the application": (SetupError, "spark_jobs.jars"),
    "[AVRO_NOT_LOADED_SQL_FUNCTIONS_UNUSABLE] Cannot call": (SetupError, "no jar for Avro"),
    "UnknownTopicOrPartitionException: This server does not host this topic-partition": (
        InputError,
        "does not exist",
    ),
    "TimeoutException: Topic once not present in metadata after 60000 ms.": (
        JobError,
        "The target topic once does not exist",
    ),
    "TimeoutException: Partition 5 of topic once with partition count 3 is not present in metadata "
    "after 60000 ms.": (JobError, "fewer partitions"),
    "RecordTooLargeException: The message is 2 bytes, which is larger than 1.\n at": (
        JobError,
        "which is larger than 1. Set `sink.kafka.max.request.size`",
    ),
    "[KAFKA_DATA_LOSS.START_OFFSET_RESET] Some data may have been lost because they are not "
    "available in Kafka any more;\nReason: Starting offset for t-0 was 1 but consumer reset to 9. "
    "SQLSTATE: 22000\n at": (
        JobError,
        "Starting offset for t-0 was 1 but consumer reset to 9. Retention removed them",
    ),
    "Py4JJavaError: org.apache.spark.sql.kafka010.KafkaIllegalStateException: Some data may have "
    "been lost;\nReason: Could not read records in offset [4, 7) for topic partition t-0\nwith": (
        JobError,
        "Could not read records in offset [4, 7) for topic partition t-0. Retention removed them",
    ),
    "[DELTA_VERSION_NOT_FOUND] Cannot time travel Delta table to version 3. Available": (
        JobError,
        "refill its target",
    ),
}


@pytest.mark.parametrize("text", RAISED)
def test_known_spark_errors_are_mapped(text: str) -> None:
    kind, expected = RAISED[text]
    error = RuntimeError(text)
    fault = mapped_error(error)
    if kind is None:
        assert fault is error
    else:
        assert isinstance(fault, kind) and expected in str(fault)
        assert "\n" not in str(fault)


def test_project_errors_stay_unchanged() -> None:
    error: SidecarError = ConfigError("one", "two")
    assert mapped_error(error) is error


def test_writer_conflict_error_contains_remedy() -> None:
    error = mapped_error(RuntimeError("[DELTA_CONCURRENT_APPEND.WITH_PARTITION_HINT] …"))
    assert isinstance(error, JobError)
    assert "Run the two jobs one after the other" in str(error)


@pytest.mark.slow
@pytest.mark.spark
def test_session_without_jars_reports_missing_source(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "spark_jobs.dedupe"]
    for setting in (
        "kafka.bootstrap.servers=127.0.0.1:1",
        "topics=t",
        "sink.delta.path=t",
        f"checkpoint={tmp_path / 'c'}",
        "spark.master=local[1]",
    ):
        command += ["--set", setting]
    environment = {"JAVA_HOME": str(java_home(17)), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == SetupError.exit_code
    assert "spark_jobs.dedupe: Spark has no jar for the Kafka source" in done.stderr
    assert "Traceback" not in done.stderr


def test_reason_of_an_unknown_java_error_is_its_root_cause() -> None:
    trace = "".join(f"\n\tat org.apache.Class.method(Class.java:{line})" for line in range(99))
    text = f"Task failed{trace}\nCaused by: java.io.IOException: too long{trace}"
    assert reason_text(ValueError(text)) == "java.io.IOException: too long"
    assert reason_text(ValueError(f"Task failed{trace}")) == "Task failed"
    assert len(reason_text(ValueError("x" * 100_000))) < 3000
    assert reason_text(JobError("Create the topic.")) == "Create the topic."
