"""`--watch` repeats until Ctrl-C, and an unavailable agent does not end the command."""

import json
from collections.abc import Callable

import jsonschema
import pytest
from rich.text import Text

from sidecar.cli.watch import Forms, watch
from sidecar.errors import ConfigError, UnavailableError
from tests.support.checks.json_schemas import command_schema

FORMS: Forms[int] = Forms(
    lambda number: [f"first of {number}", f"second of {number}"],
    lambda number: Text(f"drawn {number}"),
)


def rounds(*results: int | BaseException) -> Callable[[], int]:
    """Return or raise the results in turn; the last one is Ctrl-C."""
    left = iter([*results, KeyboardInterrupt()])

    def fetch() -> int:
        result = next(left)
        if isinstance(result, BaseException):
            raise result
        return result

    return fetch


def test_watch_prints_paragraphs_to_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt):
        watch(rounds(1, UnavailableError("Away."), 2), FORMS, 0, as_json=False)
    first, second = (f"first of {number}\nsecond of {number}\n\n" for number in (1, 2))
    assert capsys.readouterr().out == f"{first}Away.\n{second}"


def test_watch_prints_one_json_line_per_round(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt):
        watch(rounds(1, UnavailableError("Away."), 2), FORMS, 0, as_json=True)
    first, failure, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first, second) == (1, 2)
    assert failure["error"] == "Away."
    jsonschema.validate(failure, command_schema("agent", "error"))


def test_config_error_ends_the_watch(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ConfigError):
        watch(rounds(1, ConfigError("No such file.")), FORMS, 0, as_json=True)
    assert json.loads(capsys.readouterr().out) == 1
