"""The progress bar of a comparison."""

import io

import pytest
from rich.console import Console

from spark_jobs.compare.progress_bar import progress_bar


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
