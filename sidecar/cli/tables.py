"""Prints rows: a table on a terminal, plain columns in a pipe."""

import sys
from collections.abc import Callable, Iterator, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

_EMPTY = "-"
_GAP = "  "


def print_rows(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    line: Callable[..., str] | None = None,
    *,
    right: Sequence[str] = (),
    title: str | None = None,
) -> None:
    """Print a table on a terminal. In a pipe print `line` of each row, else plain columns.

    Columns named in `right` have numbers.
    """
    if sys.stdout.isatty():
        table = Table(title=title)
        for heading in headings:
            table.add_column(heading, justify="right" if heading in right else "left")
        for row in rows:
            table.add_row(*map(escape, row))
        Console().print(table)
    elif line is not None:
        for row in rows:
            print(line(*row))
    else:
        numbers = [heading in right for heading in headings]
        for text in plain_columns([[h.upper() for h in headings], *rows], numbers):
            print(text)


def plain_columns(rows: Sequence[Sequence[str]], is_right: Sequence[bool] = ()) -> Iterator[str]:
    """Aligned lines, at least two spaces between cells; no cell contains two spaces or is empty.

    Nothing is truncated or wrapped.
    """
    cells = [[" ".join(cell.split()) or _EMPTY for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    sides = [*is_right, *[False] * (len(widths) - len(is_right))]
    for row in cells:
        aligned = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, sides, strict=True)
        )
        yield _GAP.join(aligned).rstrip()
