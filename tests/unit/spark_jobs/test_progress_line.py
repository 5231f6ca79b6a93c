"""The line of a job on a terminal."""

import io
import logging

from rich.console import Console

from spark_jobs.progress_line import no_line, progress_line


def test_a_terminal_shows_the_latest_text() -> None:
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, width=100)
    handlers = logging.getLogger().handlers[:]
    with progress_line("tables", console) as show:
        show("[3] batches")
    assert "tables: [3] batches" in written.getvalue()
    assert logging.getLogger().handlers == handlers


def test_other_outputs_show_nothing() -> None:
    written = io.StringIO()
    with progress_line("tables", Console(file=written)) as show:
        show("3 batches")
    assert show is no_line
    assert written.getvalue() == ""
