"""Log lines as text and JSON, and continuing conditions."""

import io
import json
import logging
import unicodedata
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.logs import (
    JsonFormatter,
    LogFormat,
    LogLevel,
    RateLimitedLog,
    RecentWarnings,
    TextFormatter,
    configure,
    fields,
    set_constant_fields,
)

logger = logging.getLogger("sidecar.test")


@pytest.fixture(autouse=True)
def restored_root() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    set_constant_fields({})
    yield
    set_constant_fields({})
    root.handlers[:] = handlers
    root.setLevel(level)


def stream(log_format: LogFormat, level: LogLevel = "info") -> io.StringIO:
    target = io.StringIO()
    configure(log_format, level, target)
    return target


def test_text_line_contains_message_and_fields() -> None:
    target = stream("text")
    logger.info("segment finished", extra=fields(segment="a.log", note="two words", empty=""))
    line = target.getvalue()
    assert line.endswith(
        'INFO    sidecar.test: segment finished segment=a.log note="two words" empty=""\n'
    )
    assert line[10] == "T"
    assert line[23] == "Z"


@given(st.text(), st.text())
def test_any_text_takes_one_line(message: str, value: str) -> None:
    record = logging.LogRecord("n", logging.INFO, "", 0, "%s", (message,), None)
    vars(record).update(fields(name=value))
    text_line = TextFormatter().format(record)
    json_line = JsonFormatter().format(record)
    assert len(f"{text_line}.".splitlines()) == 1
    assert len(f"{json_line}.".splitlines()) == 1
    assert not any(unicodedata.category(each) == "Cc" for each in text_line + json_line)
    found = json.loads(json_line)
    assert (found["message"], found["name"]) == (message, value)


def test_json_line_contains_message_and_fields() -> None:
    target = stream("json")
    logger.warning("segment finished", extra=fields(segment="ä", events=3, level="mine"))
    line = json.loads(target.getvalue())
    assert line.pop("ts").endswith("Z")
    assert line == {
        "level": "warning",
        "logger": "sidecar.test",
        "message": "segment finished",
        "segment": "ä",
        "events": 3,
    }


def test_json_line_contains_constant_fields() -> None:
    target = stream("json")
    set_constant_fields({"host": "host-1", "cluster": "lab", "level": "mine"})
    logger.info("segment finished", extra=fields(cluster="own"))
    set_constant_fields({"host": "host-2"})
    logger.info("segment finished")
    first, second = map(json.loads, target.getvalue().splitlines())
    assert (first["host"], first["cluster"], first["level"]) == ("host-1", "own", "info")
    assert (second["host"], "cluster" in second) == ("host-2", False)


def test_text_line_omits_constant_fields() -> None:
    target = stream("text")
    set_constant_fields({"host": "host-1"})
    logger.info("segment finished")
    assert "host-1" not in target.getvalue()


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_traceback_is_logged_only_at_debug_level(log_format: LogFormat) -> None:
    def fail_under(level: LogLevel) -> str:
        target = stream(log_format, level)
        try:
            raise ValueError("broken")
        except ValueError:
            logger.exception("it failed")
        return target.getvalue()

    assert "Traceback" not in fail_under("info")
    assert "Traceback" in fail_under("debug")


def test_condition_is_logged_once_and_then_at_growing_intervals(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now_s = 0.0
    repeated = RateLimitedLog(logger, clock=lambda: now_s)
    said_at_s = []
    for second in range(4000):
        now_s = float(second)
        if repeated.log("kafka", "no broker answers", servers="a:1"):
            said_at_s.append(second)
    assert said_at_s == [0, 10, 30, 70, 150, 310, 630, 1230, 1830, 2430, 3030, 3630]
    assert caplog.records[1].__dict__["sidecar_fields"] == {
        "servers": "a:1",
        "repeated": 10,
        "for_s": 10.0,
    }


def test_condition_end_is_logged_only_after_logged_start(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    now_s = 5.0
    repeated = RateLimitedLog(logger, clock=lambda: now_s)
    assert not repeated.resolved("kafka", "the broker is back")
    repeated.log("kafka", "no broker answers")
    now_s = 7.5
    assert repeated.resolved("kafka", "the broker is back")
    assert not repeated.resolved("kafka", "the broker is back")
    assert caplog.records[-1].__dict__["sidecar_fields"] == {"after_s": 2.5}
    assert repeated.log("kafka", "no broker answers")


def hide(text: str) -> str:
    return text.replace("open sesame", "********")


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_secrets_are_hidden_in_messages_fields_and_tracebacks(log_format: LogFormat) -> None:
    target = io.StringIO()
    configure(log_format, "debug", target, hide)
    with RecentWarnings(hide=hide) as trouble:
        try:
            raise ValueError("it is not open sesame")
        except ValueError as error:
            logger.error("open sesame is refused", extra=fields(said="open sesame"), exc_info=error)
    assert "sesame" not in target.getvalue()
    assert target.getvalue().count("********") >= 3
    (line,) = trouble.lines
    assert (line.message, line.fields) == ("******** is refused", 'said="********"')
