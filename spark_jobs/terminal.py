"""The progress of a job on a terminal, below its log lines."""

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

Show = Callable[[str], None]
"""Replaces the text of the line."""
OnRead = Callable[[str, int, int], None]
"""Called with what is read, the ranges that are done, and all ranges."""


def no_line(text: str) -> None:
    """Show nothing."""


@contextmanager
def progress_line(job: str, console: Console | None = None) -> Iterator[Show]:
    """A line on standard error while the block runs. Shows nothing if that is no terminal."""
    console = console or Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield no_line
        return
    with console.status(f"{job}: starting …") as status, _log_above():
        yield lambda text: status.update(f"{job}: {escape(text)}")


@contextmanager
def _log_above() -> Iterator[None]:
    """Print log lines through `sys.stderr`, which rich replaces to keep its line at the bottom."""
    handlers = [
        (handler, handler.stream)
        for handler in logging.getLogger().handlers
        if isinstance(handler, logging.StreamHandler) and handler.stream is sys.__stderr__
    ]
    for handler, _ in handlers:
        handler.setStream(sys.stderr)
    try:
        yield
    finally:
        for handler, stream in handlers:
            handler.setStream(stream)


@contextmanager
def progress_bar(console: Console | None = None) -> Iterator[OnRead]:
    """A bar for each phase. Shows nothing if standard error is no terminal."""
    console = console or Console(file=sys.stderr)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        tasks = {}

        def on_read(what: str, done: int, ranges: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=ranges)
            bar.update(tasks[what], completed=done)

        yield on_read
