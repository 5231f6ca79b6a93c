"""Options of the jobs from properties files and `--set`, and their errors.

Errors are reported before Spark starts, so these tests need no JVM.
"""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import click.testing
import pytest

from sidecar.errors import ConfigError
from sidecar.properties.loading import load
from sidecar.properties.model import Properties, declarations
from sidecar.properties.source import command_line_settings
from spark_jobs.dedupe.options import DedupeJobOptions
from spark_jobs.jars import main as fetch_jars
from spark_jobs.mongo_reconcile.options import MongoJobOptions
from spark_jobs.options.command_line import JobReport, job_command
from spark_jobs.options.job import SessionOptions, StreamOptions
from spark_jobs.options.kafka import SourceOptions
from spark_jobs.property_names import all_names
from spark_jobs.reconcile import job as reconcile_job
from spark_jobs.reconcile.options import (
    PurgeOptions,
    ReconcileOptions,
    TruncateOptions,
    ViewOptions,
)
from tests.support.agents.bad_values import bad_values
from tests.support.spark.options import options_of

pytestmark = pytest.mark.usefixtures("root_logger")

Settings = Mapping[str, str]
_SOURCE = {"kafka.bootstrap.servers": "h:9092", "topics": "a", "checkpoint": "/c"}
_TABLE = {"output": "/o", "schema.file": "/s", "table": "shop.orders"}
GOOD: Mapping[type[SessionOptions], Settings] = MappingProxyType(
    {
        DedupeJobOptions: {**_SOURCE, "sink.delta.path": "/d"},
        MongoJobOptions: {**_SOURCE, "table.path": "/t"},
        ReconcileOptions: {**_SOURCE, "output": "/o", "schema.file": "/s"},
        ViewOptions: {**_TABLE, "view.output": "/v"},
        TruncateOptions: _TABLE,
        PurgeOptions: _TABLE,
    }
)
TO_KAFKA = {"sink": "kafka", "sink.delta.path": ""}
ONE_SENTENCE = re.compile(r"\.(?:\s|$)")


def loaded(model: type[Properties], changes: Settings) -> Any:
    settings = {**GOOD[model], **changes}  # type: ignore[index]
    given = [f"{name}={value}" for name, value in settings.items() if not _is_left_out(name, value)]
    return load(model, [], overrides=command_line_settings(given))


def _is_left_out(name: str, value: str) -> bool:
    return value == "" and name in ("sink.delta.path", "topics")


def problems(model: type[Properties], changes: Settings) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as raised:
        loaded(model, changes)
    return raised.value.problems


MISTAKES: list[tuple[type[SessionOptions], Settings, tuple[str, ...]]] = [
    (DedupeJobOptions, {"kafka.bootstrap.servers": "h:99999"}, ("`99999`", "1 to 65535")),
    (DedupeJobOptions, {"kafka.bootstrap.servers": "http://h"}, ("`http://`", "`host:port`")),
    (DedupeJobOptions, {"kafka.security.protocol": "TLS"}, ("`TLS`", "SASL_SSL")),
    (DedupeJobOptions, {"kafka.sasl.mechanism": "FOO"}, ("`FOO`", "SCRAM-SHA-512")),
    (DedupeJobOptions, {"kafka.sasl.jaas.config": "x"}, ("plaintext", "SASL_SSL")),
    (DedupeJobOptions, {"kafka.ssl.truststore.location": "/t"}, ("plaintext", "Set it to SSL")),
    (DedupeJobOptions, {"kafka.value.deserializer": "x"}, ("values are bytes",)),
    (DedupeJobOptions, {"topics.pattern": "shop.*"}, ("must be set, but not both",)),
    (DedupeJobOptions, {"topics": ""}, ("must be set, but not both",)),
    (DedupeJobOptions, {"kafka.bootstrap.servers": ""}, ("`kafka.bootstrap.servers`",)),
    (DedupeJobOptions, {"kafka.group.id": "g"}, ("cannot be set: offsets are in the checkpoint",)),
    (DedupeJobOptions, {"topics": ","}, ("an entry between its commas",)),
    (DedupeJobOptions, {"topics": "a b"}, ("`a b`", "letters, digits")),
    (DedupeJobOptions, {"topics": "shop.*"}, ("`shop.*`", "use `topics.pattern`")),
    (DedupeJobOptions, {"topics": "x" * 250}, ("249", "not 250")),
    (DedupeJobOptions, {"topics": "", "topics.pattern": "("}, ("regular expression", "`(`")),
    (DedupeJobOptions, {"starting.offsets": "middle"}, ("`earliest`, `latest`", "`middle`")),
    (DedupeJobOptions, {"starting.offsets": "{}"}, ("`earliest`, `latest`",)),
    (DedupeJobOptions, {"starting.offsets": '{"a":5}'}, ("`a` lists no partitions",)),
    (DedupeJobOptions, {"starting.offsets": '{"a":{"x":1}}'}, ("the partition `x`",)),
    (DedupeJobOptions, {"starting.offsets": '{"a":{"0":-5}}'}, ("at `-5`", "-2: earliest")),
    (DedupeJobOptions, {"starting.offsets": '{"a":{"0":"1"}}'}, ("whole numbers",)),
    (DedupeJobOptions, {"starting.offsets": '{"b":{"0":1}}'}, ("contains b", "Use the same")),
    (DedupeJobOptions, {"max.offsets.per.trigger": "10k"}, ("whole number", "`10k`")),
    (DedupeJobOptions, {"min.partitions": "9999999999"}, ("at most 2147483647",)),
    (DedupeJobOptions, {"state.partitions": "9999999999"}, ("at most 2147483647",)),
    (DedupeJobOptions, {"checkpoint": "s3a://"}, ("URI with a path", "`s3a://`")),
    (DedupeJobOptions, {"checkpoint": "/d"}, ("`sink.delta.path` overlap", "two folders")),
    (DedupeJobOptions, {"checkpoint": "file:///d/inner"}, ("overlap", "neither inside the other")),
    (DedupeJobOptions, {"metrics.json.file": "/none/x"}, ("existing directory", "/none")),
    (DedupeJobOptions, {"metrics.prometheus.file": "/"}, ("is a directory",)),
    (DedupeJobOptions, {"sink": "detla"}, ("`delta`, `kafka` or `delta,kafka`",)),
    (DedupeJobOptions, {"sink": "kafka"}, ("for `sink=delta`, and only then",)),
    (DedupeJobOptions, {"sink.delta.path": " "}, ("must be a folder or a URI",)),
    (DedupeJobOptions, {**TO_KAFKA, "sink.topic": "a b"}, ("topic name", "`a b`")),
    (DedupeJobOptions, {**TO_KAFKA, "sink.topic": ""}, ("topic name",)),
    (DedupeJobOptions, {**TO_KAFKA, "sink.topic.prefix": "p/"}, ("topic name", "`p/`")),
    (DedupeJobOptions, {**TO_KAFKA, "sink.topic": "a"}, ("which the job also reads. Use another",)),
    (
        DedupeJobOptions,
        {**TO_KAFKA, "sink.topic": "o", "sink.kafka.bootstrap.servers": "h:99999"},
        ("sink.kafka.bootstrap.servers", "1 to 65535"),
    ),
    (
        DedupeJobOptions,
        {**TO_KAFKA, "sink.topic": "o", "sink.kafka.acks": "1"},
        ("must be `all`", "`1`", "lose events"),
    ),
    (DedupeJobOptions, {"dead.letter.path": "/x"}, ("invalid.records=dead-letter",)),
    (
        DedupeJobOptions,
        {"invalid.records": "dead-letter", "dead.letter.path": "/d"},
        ("overlap", "neither inside the other"),
    ),
    (DedupeJobOptions, {"ttl.ms": "1"}, ("at least 2", "`1`")),
    (DedupeJobOptions, {"topcs": "a"}, ("nearest one is `topics`",)),
    (MongoJobOptions, {"table.path": "/c"}, ("`checkpoint`", "two folders")),
    (MongoJobOptions, {"order.by": "time"}, ("'cluster-time' or 'topic'", "`time`")),
    (ReconcileOptions, {"output": "/c/inner"}, ("`output` overlap", "two folders")),
    (ReconcileOptions, {"buckets": "1k"}, ("whole number", "`1k`")),
    (ReconcileOptions, {"tables": "orders"}, ("`keyspace.table`", "`orders`")),
    (ReconcileOptions, {"tables": "shop.*"}, ("without patterns", "`shop.*`")),
    (ReconcileOptions, {"counter.tables": "a.b.c"}, ("`keyspace.table`", "`a.b.c`")),
    (ViewOptions, {"table": "orders"}, ("`keyspace.table`", "`orders`")),
    (ViewOptions, {"view.output": "/o"}, ("`output` overlap", "two folders")),
    (ViewOptions, {"at.s": "1700000000000"}, ("seconds since 1970", "milliseconds")),
    (ViewOptions, {"at.s": "-5"}, ("at least 0",)),
    (TruncateOptions, {"at.us": "-1"}, ("at least 0",)),
    (TruncateOptions, {"at.us": "9" * 18}, ("must not be in the future", "would delete")),
    (PurgeOptions, {"gc.grace.seconds": "-1"}, ("at least 0",)),
    (PurgeOptions, {"lag.seconds": "a day"}, ("whole number", "`a day`")),
]


@pytest.mark.parametrize(
    ("model", "changes", "parts"),
    MISTAKES,
    ids=[
        f"{model.__name__}-{'-'.join(f'{k}={v[:20]}' for k, v in changes.items())}"
        for model, changes, _ in MISTAKES
    ],
)
def test_invalid_job_option_exits_with_code_2(
    model: type[SessionOptions],
    changes: Settings,
    parts: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
) -> None:
    def never(options: SessionOptions) -> None:
        raise AssertionError("the job starts")

    given = {**GOOD[model], **changes}
    words = [
        word
        for name, value in given.items()
        if not _is_left_out(name, value)
        for word in ("--set", f"{name}={value}")
    ]
    main = job_command("job", model, never, about="A job.")
    with pytest.raises(SystemExit) as ended:
        main(words)
    error = capsys.readouterr().err
    assert ended.value.code == 2, error
    assert "Traceback" not in error
    (line,) = error.splitlines()
    assert line.startswith("job: `")
    for part in parts:
        assert part in line


TYPED = [
    pytest.param(model, declaration.name, value, id=f"{model.__name__}-{declaration.name}-{what}")
    for model in GOOD
    for _, info, declaration in declarations(model)
    if not declaration.is_prefix
    for what, value in bad_values(info)
]


@pytest.mark.parametrize(("model", "name", "value"), TYPED)
def test_option_error_contains_name_and_value(
    model: type[SessionOptions], name: str, value: str
) -> None:
    (problem,) = problems(model, {name: value.replace("\\u0000", "\0")})
    assert problem.startswith(f"`{name}` (command line) ")
    assert re.search(r"must (be|have|not)|is empty", problem), problem
    assert len(ONE_SENTENCE.findall(problem)) == 1
    assert "u0000" in value or f"`{value}`" in problem or "empty" in problem


@pytest.mark.parametrize(
    ("model", "changes", "field", "expected"),
    [
        (DedupeJobOptions, {"starting.offsets": "Earliest"}, "starting_offsets", "earliest"),
        (DedupeJobOptions, {"ttl.ms": "6h"}, "ttl_ms", 21_600_000),
        (DedupeJobOptions, {"sink": "Delta"}, "sinks", ("delta",)),
        (DedupeJobOptions, {"topics": "a, a,b"}, "topics", ("a", "b")),
        (DedupeJobOptions, {"log.level": "WARN"}, "log_level", "warning"),
        (DedupeJobOptions, {"checkpoint": "/d/_checkpoint"}, "checkpoint", "/d/_checkpoint"),
        (DedupeJobOptions, {"checkpoint": "s3a://b/d"}, "checkpoint", "s3a://b/d"),
        (MongoJobOptions, {"tombstone.retention.ms": "7d"}, "tombstone_retention_ms", 604_800_000),
        (PurgeOptions, {"gc.grace.seconds": "10d"}, "gc_grace_s", 864_000),
        (PurgeOptions, {"lag.seconds": "90"}, "lag_s", 90),
        (TruncateOptions, {"at.us": "1700000000000000"}, "at_us", 1_700_000_000_000_000),
        (ViewOptions, {"at.s": "1700000000"}, "at_s", 1_700_000_000),
    ],
)
def test_common_option_formats_are_accepted(
    model: type[SessionOptions], changes: Settings, field: str, expected: object
) -> None:
    assert getattr(loaded(model, changes).properties, field) == expected


@pytest.mark.parametrize(
    ("model", "changes", "part"),
    [
        (DedupeJobOptions, {"kafka.bootstrap.server": "h:1"}, "Did you mean"),
        (DedupeJobOptions, {"trigger.interval.ms": "10s"}, "no effect without `trigger="),
        (
            DedupeJobOptions,
            {"trigger": "once", "max.offsets.per.trigger": "5"},
            "no effect with `trigger=once`",
        ),
        (DedupeJobOptions, {"sink.topic": "x"}, "`sink.topic` has no effect without `kafka`"),
        (DedupeJobOptions, {"sink.kafka.linger.ms": "5"}, "no effect without `kafka` in `sink`"),
        (TruncateOptions, {"at.us": "1700000000"}, "before 1974. The unit is microseconds"),
        (ReconcileOptions, {"counter.tables": "a.b", "tables": "a.c"}, "but `tables` does not"),
    ],
)
def test_option_without_effect_is_a_warning(
    model: type[SessionOptions], changes: Settings, part: str
) -> None:
    (warning,) = loaded(model, changes).warnings
    assert part in warning


def test_unreadable_schema_is_an_error_before_spark_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*words: object, **named: object) -> None:
        raise AssertionError("Spark starts")

    monkeypatch.setattr(reconcile_job, "start_job", never)
    options = loaded(ReconcileOptions, {"schema.file": str(tmp_path / "none")}).properties
    with pytest.raises(ConfigError, match=r"Cannot read the schema from .*No such file"):
        reconcile_job.main(options)
    file = tmp_path / "schema.cql"
    table = "CREATE TABLE shop.orders (id int PRIMARY KEY)"
    file.write_text(f"{table} WITH ID = 5a1c395e-b41f-11e5-9f22-ba0be0483c18;")
    changes = {"schema.file": str(file), "tables": "shop.ordrs"}
    with pytest.raises(
        ConfigError, match=r"has no table shop\.ordrs\. Its tables are: shop\.orders"
    ):
        reconcile_job.main(loaded(ReconcileOptions, changes).properties)


@pytest.mark.parametrize("option", ["--spark", "--delta", "--unity-catalog", "--kafka-clients"])
@pytest.mark.parametrize("value", ["", "newest", "4"])
def test_invalid_jar_release_is_an_error(option: str, value: str, tmp_path: Path) -> None:
    done = click.testing.CliRunner().invoke(fetch_jars, [option, value, str(tmp_path)])
    assert done.exit_code == 2
    assert f"`{value}` is not a release" in done.output


@pytest.mark.parametrize("model", GOOD)
def test_properties_file_may_contain_options_of_all_jobs(
    model: type[SessionOptions], tmp_path: Path
) -> None:
    own = {name for _, _, each in declarations(model) for name in each.names}
    prefixes = tuple(name for name in own if name.endswith("."))
    others = sorted(each for each in all_names() - own if not each.startswith(prefixes or "\0"))
    lines = [f"{name}{'x' if name.endswith('.') else ''}=1" for name in others]
    file = tmp_path / "jobs.properties"
    file.write_text(
        "\n".join((*lines, *(f"{name}={value}" for name, value in GOOD[model].items())))
    )
    (warning,) = load(model, [file], elsewhere=all_names()).warnings
    assert warning.startswith("Properties of other jobs have no effect here: `")
    assert warning.count("`") == 2 * len(others)
    with pytest.raises(ConfigError, match="is not a known property"):
        load(model, [file], overrides=command_line_settings(lines[:1]), elsewhere=all_names())
    with pytest.raises(ConfigError, match="is not a known property"):
        file.write_text(f"{file.read_text()}\n{others[0]}x=1")
        load(model, [file], elsewhere=all_names())


class Options(StreamOptions, SourceOptions, SessionOptions):
    """Options of every job."""


ANY_JOB = {"kafka.bootstrap.servers": "k:9092", "topics": "shop.a, shop.b", "checkpoint": "/c"}


def options(**changes: str) -> Options:
    return options_of(Options, ANY_JOB | changes)


def test_kafka_source_options_become_reader_options() -> None:
    found = options(**{"kafka.security.protocol": "SSL", "max.offsets.per.trigger": "7000"})
    assert found.reader_options() == {
        "kafka.bootstrap.servers": "k:9092",
        "kafka.security.protocol": "SSL",
        "subscribe": "shop.a,shop.b",
        "startingOffsets": "earliest",
        "failOnDataLoss": "true",
        "includeHeaders": "true",
        "maxOffsetsPerTrigger": "7000",
    }


def test_topic_pattern_replaces_topics() -> None:
    found = options(**{"topics": "", "topics.pattern": "shop\\..*"})
    assert found.reader_options()["subscribePattern"] == "^(?:shop\\..*)$"
    assert "subscribe" not in found.reader_options()
    assert found.subscription() == "shop\\..*"


def test_trigger_options_become_spark_arguments() -> None:
    assert options().trigger_arguments() == {"availableNow": True}
    assert options(trigger="Processing-Time").trigger_arguments() == {
        "processingTime": "60000 milliseconds"
    }


def run(*words: str, job: Callable[[Options], JobReport | None] = lambda _: None) -> int:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as ended:
        job_command("job", Options, job, about="A job.")(words)
    assert isinstance(ended.value.code, int)
    return ended.value.code


def words_of(settings: Mapping[str, str]) -> list[str]:
    return [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]


def test_command_reads_files_and_overrides(tmp_path: Path) -> None:
    file = tmp_path / "job.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in ANY_JOB.items()))
    seen: list[Options] = []
    assert run("--config", str(file), "--set", "checkpoint=/other", job=seen.append) == 0
    assert (seen[0].checkpoint, seen[0].topics) == ("/other", ("shop.a", "shop.b"))


@pytest.mark.parametrize(
    ("words", "printed"),
    [((), "differs\n"), (("--json",), {"message": "differs", "records": 3})],
    ids=["text", "json"],
)
def test_command_prints_report_and_returns_exit_code(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], printed: Any
) -> None:
    report = JobReport("differs", {"records": 3}, 7)
    assert run(*words_of(ANY_JOB), *words, job=lambda _: report) == 7
    found = capsys.readouterr().out
    assert (json.loads(found) if words else found) == printed


@pytest.mark.parametrize(
    ("words", "part"),
    [(["--set", "topics=a"], "checkpoint"), (["--tpoics"], "--tpoics")],
    ids=["option", "argument"],
)
def test_failure_is_printed_as_json(
    capsys: pytest.CaptureFixture[str], words: list[str], part: str
) -> None:
    code = run(*words, "--json")
    printed = capsys.readouterr()
    document = json.loads(printed.out)
    assert printed.err == ""
    assert code == document["exit_code"] == 2
    assert part in document["error"]
    assert document["problems"]


def test_help_lists_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--help") == 0
    printed = capsys.readouterr().out
    for name in ("kafka.*", "topics.pattern", "checkpoint (required)", "spark.*", "jars.dir"):
        assert name in printed
