"""Options of the jobs from properties files and `--set`."""

import json
from pathlib import Path

import pytest

from sidecar.errors import ConfigError
from spark_jobs.options.command_line import JobReport, job_command
from spark_jobs.options.session import SessionOptions
from spark_jobs.options.source import SourceOptions
from spark_jobs.options.stream import StreamOptions
from tests.support.spark.options import options_of

pytestmark = pytest.mark.usefixtures("root_logger")


class Options(StreamOptions, SourceOptions, SessionOptions):
    """Options of every job."""


GOOD = {"kafka.bootstrap.servers": "k:9092", "topics": "shop.a, shop.b", "checkpoint": "/c"}
BAD = {
    "unknown name": ({"topcs": "a"}, "`topcs` (command line) is not a known property"),
    "nearest name": ({"triger": "once"}, "the nearest one is `trigger`"),
    "both subscriptions": (
        {"topics.pattern": "shop.*"},
        "must be set, but not both",
    ),
    "no subscription": ({"topics": ""}, "must be set, but not both"),
    "no brokers": ({"kafka.bootstrap.servers": ""}, "`kafka.bootstrap.servers`"),
    "a consumer group": ({"kafka.group.id": "g"}, "cannot be set: offsets are in the checkpoint"),
    "offsets": ({"starting.offsets": "middle"}, "must be `earliest`, `latest`, or JSON"),
    "trigger": ({"trigger": "daily"}, "must be 'available-now', 'once' or 'processing-time'"),
    "records": ({"max.offsets.per.trigger": "0"}, "must be at least 1"),
    "no checkpoint": ({"checkpoint": ""}, "`checkpoint` (command line) must not be empty"),
}


def options(**changes: str) -> Options:
    return options_of(Options, GOOD | changes)


def test_options_of_the_kafka_source() -> None:
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


def test_a_pattern_replaces_topics() -> None:
    found = options(**{"topics": "", "topics.pattern": "shop\\..*"})
    assert found.reader_options()["subscribePattern"] == "^(?:shop\\..*)$"
    assert "subscribe" not in found.reader_options()
    assert found.subscription() == "shop\\..*"


def test_triggers() -> None:
    assert options().trigger_arguments() == {"availableNow": True}
    assert options(trigger="Processing-Time").trigger_arguments() == {
        "processingTime": "60000 milliseconds"
    }


@pytest.mark.parametrize("name", BAD)
def test_mistakes_are_named(name: str) -> None:
    changes, expected = BAD[name]
    with pytest.raises(ConfigError) as raised:
        options(**changes)
    assert expected in str(raised.value)


def test_a_command_reads_files_and_overrides(tmp_path: Path) -> None:
    file = tmp_path / "job.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in GOOD.items()))
    seen: list[Options] = []
    main = job_command("job", Options, seen.append, about="A job.")
    with pytest.raises(SystemExit) as ended:
        main(["--config", str(file), "--set", "checkpoint=/other"])
    assert ended.value.code == 0
    assert seen[0].checkpoint == "/other"
    assert seen[0].topics == ("shop.a", "shop.b")


def test_a_command_prints_errors_and_exits_with_a_code(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main = job_command("job", Options, lambda _: None, about="A job.")
    with pytest.raises(SystemExit) as ended:
        main(["--set", "topics=a", "--set", "checkpoint=/c", "--set", "trigger=never"])
    assert ended.value.code == 2
    printed = capsys.readouterr().err
    assert "job: `trigger` (command line) must be 'available-now'" in printed
    assert "Traceback" not in printed


def test_a_report_is_text_or_json(capsys: pytest.CaptureFixture[str]) -> None:
    report = JobReport("3 records", {"records": 3})
    main = job_command("job", Options, lambda _: report, about="A job.")
    given = [word for name, value in GOOD.items() for word in ("--set", f"{name}={value}")]
    for words, expected in ((given, None), ([*given, "--json"], {"records": 3})):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 0
        printed = capsys.readouterr().out
        if expected is None:
            assert printed == "3 records\n"
        else:
            assert json.loads(printed) == {"message": "3 records", **expected}


@pytest.mark.parametrize(
    ("words", "part"),
    [(["--set", "topics=a"], "checkpoint"), (["--tpoics"], "--tpoics")],
    ids=["option", "argument"],
)
def test_a_failure_is_a_json_document(
    capsys: pytest.CaptureFixture[str], words: list[str], part: str
) -> None:
    main = job_command("job", Options, lambda _: None, about="A job.")
    with pytest.raises(SystemExit) as ended:
        main([*words, "--json"])
    printed = capsys.readouterr()
    document = json.loads(printed.out)
    assert printed.err == ""
    assert ended.value.code == document["exit_code"] == 2
    assert part in document["error"]
    assert document["problems"]


def test_help_names_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    main = job_command("job", Options, lambda _: None, about="A job.")
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    for name in ("kafka.*", "topics.pattern", "checkpoint (required)", "spark.*", "jars.dir"):
        assert name in printed


def test_a_report_has_an_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    main = job_command("job", Options, lambda _: JobReport("differs", {}, 7), about="A job.")
    with pytest.raises(SystemExit) as ended:
        main([word for name, value in GOOD.items() for word in ("--set", f"{name}={value}")])
    assert (ended.value.code, capsys.readouterr().out) == (7, "differs\n")
