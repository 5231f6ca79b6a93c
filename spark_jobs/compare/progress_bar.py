"""A progress bar of the ranges that were read, on a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

OnRead = Callable[[str, int, int], None]
"""Called with what is read, the ranges that are done, and all ranges."""


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
