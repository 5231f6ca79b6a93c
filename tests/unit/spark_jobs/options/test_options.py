"""Options of the jobs from properties files and `--set`."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

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
    "both subscriptions": ({"topics.pattern": "shop.*"}, "must be set, but not both"),
    "no subscription": ({"topics": ""}, "must be set, but not both"),
    "no brokers": ({"kafka.bootstrap.servers": ""}, "`kafka.bootstrap.servers`"),
    "a consumer group": ({"kafka.group.id": "g"}, "cannot be set: offsets are in the checkpoint"),
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


def run(*words: str, job: Callable[[Options], JobReport | None] = lambda _: None) -> int:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as ended:
        job_command("job", Options, job, about="A job.")(words)
    assert isinstance(ended.value.code, int)
    return ended.value.code


def words_of(settings: Mapping[str, str]) -> list[str]:
    return [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]


def test_a_command_reads_files_and_overrides(tmp_path: Path) -> None:
    file = tmp_path / "job.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in GOOD.items()))
    seen: list[Options] = []
    assert run("--config", str(file), "--set", "checkpoint=/other", job=seen.append) == 0
    assert (seen[0].checkpoint, seen[0].topics) == ("/other", ("shop.a", "shop.b"))


@pytest.mark.parametrize(
    ("words", "printed"),
    [((), "differs\n"), (("--json",), {"message": "differs", "records": 3})],
    ids=["text", "json"],
)
def test_a_report_is_text_or_json_and_has_an_exit_code(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], printed: Any
) -> None:
    report = JobReport("differs", {"records": 3}, 7)
    assert run(*words_of(GOOD), *words, job=lambda _: report) == 7
    found = capsys.readouterr().out
    assert (json.loads(found) if words else found) == printed


@pytest.mark.parametrize(
    ("words", "part"),
    [(["--set", "topics=a"], "checkpoint"), (["--tpoics"], "--tpoics")],
    ids=["option", "argument"],
)
def test_a_failure_is_a_json_document(
    capsys: pytest.CaptureFixture[str], words: list[str], part: str
) -> None:
    code = run(*words, "--json")
    printed = capsys.readouterr()
    document = json.loads(printed.out)
    assert printed.err == ""
    assert code == document["exit_code"] == 2
    assert part in document["error"]
    assert document["problems"]


def test_help_names_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--help") == 0
    printed = capsys.readouterr().out
    for name in ("kafka.*", "topics.pattern", "checkpoint (required)", "spark.*", "jars.dir"):
        assert name in printed
