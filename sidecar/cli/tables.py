"""Prints rows: a table on a terminal, lines in a pipe."""

import sys
from collections.abc import Callable, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table


def print_rows(
    headings: Sequence[str], rows: Sequence[Sequence[str]], line: Callable[..., str]
) -> None:
    """Print a table on a terminal, else one line per row, made by `line` from its cells."""
    if not sys.stdout.isatty():
        for row in rows:
            print(line(*row))
        return
    table = Table(*headings)
    for row in rows:
        table.add_row(*map(escape, row))
    Console().print(table)
