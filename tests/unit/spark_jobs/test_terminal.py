"""The line of a job on a terminal."""

import io
import logging

import pytest
from rich.console import Console

from spark_jobs.terminal import no_line, progress_bar, progress_line


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


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_bar_is_for_terminals(is_terminal: bool) -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=is_terminal, width=80)
    with progress_bar(console) as on_read:
        on_read("token ranges", 8, 16)
        on_read("token ranges", 16, 16)
        on_read("rows of ranges", 1, 1)
    text = out.getvalue()
    if is_terminal:
        assert "16/16" in text
        assert "rows of ranges" in text
    else:
        assert text.strip() == ""
