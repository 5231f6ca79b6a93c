"""Runs the command lines of both agents within the process of the test, which is fast."""

import importlib
import logging
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TextIO

import pytest

from sidecar import logs
from tests.support.agents.agent_command import Outcome

Run = Callable[..., Outcome]


def agent(*arguments: str | Path | int, package: str = "agent") -> Outcome:
    """Runs `agent` or `mongo_agent` to the end, as `agent_command.agent` does in a process."""
    main = importlib.import_module(f"{package}.cli.entry").main
    code: object = 0
    with _stream() as output, _stream() as errors, redirect_stdout(output), redirect_stderr(errors):
        with own_log():
            try:
                main(list(map(str, arguments)))
            except SystemExit as ended:
                code = ended.code
        return Outcome(code if isinstance(code, int) else 0, _text(output), _text(errors))


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


@contextmanager
def own_log() -> Iterator[None]:
    """A command configures the log of its process; afterwards it is as it was before."""
    names = ("", "cassandra", "opentelemetry", "pymongo")
    loggers = [logging.getLogger(name) for name in names]
    before = [(logger.handlers[:], logger.level) for logger in loggers]
    try:
        yield
    finally:
        logs.set_constant_fields({})
        for logger, (handlers, level) in zip(loggers, before, strict=True):
            logger.handlers[:] = handlers
            logger.setLevel(level)


def _stream() -> TextIO:
    """A file: commands also write bytes, or to the descriptor."""
    return tempfile.TemporaryFile("w+", encoding="utf-8", newline="")


def _text(stream: TextIO) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()
