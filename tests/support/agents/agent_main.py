"""Runs the command lines of both agents within the process of the test, which is fast."""

import importlib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.agents.agent_command import Outcome

Run = Callable[..., Outcome]


def runner(capsys: pytest.CaptureFixture[str], package: str = "agent") -> Run:
    """A function that runs `agent` or `mongo_agent` with its arguments, to the end."""
    main = importlib.import_module(f"{package}.cli.entry").main

    def run(*arguments: str | Path | int) -> Outcome:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(list(map(str, arguments)))
        output, errors = capsys.readouterr()
        code = ended.value.code
        return Outcome(code if isinstance(code, int) else 0, output, errors)

    return run
