"""Prints a command's result as JSON for programs, or as text for people.

With `--json`, standard output contains one JSON document, or one JSON line per result if the
command declares it. A failed command prints an `ErrorReport`. Progress and warnings go to standard
error. `docs/reference/schemas` contains each command's JSON Schema. Rows are printed as a table on
a terminal, and as plain columns in a pipe.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import click
import orjson
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sidecar.cli.invocation import Command, Invocation, invocation_of

JSON_FORM = "json_form"
"""Attribute of a command's function that holds its `JsonForm`."""
_OPTIONS = orjson.OPT_NON_STR_KEYS
"""Allows mappings with enum members as keys."""


@dataclass(frozen=True, slots=True)
class JsonForm:
    """The type of a command's JSON document, or of each JSON line if `is_lines`."""

    result: Any
    is_lines: bool = False


@dataclass(frozen=True, slots=True)
class ErrorReport:
    """The document that a failed command prints."""

    error: str
    """All messages, separated by line breaks."""
    exit_code: int
    """Exit code of the process."""
    problems: tuple[str, ...]
    """One message for each mistake."""


@dataclass(frozen=True, slots=True)
class MessageReport:
    """The document of a command that performs an action."""

    message: str
    """The effect, as the command prints it."""


def json_output(
    result: Any, *, lines: bool = False, text: str = "Print one JSON document."
) -> Callable[[Command], Command]:
    """Add `--json` to a command whose document, or line, has the type `result`.

    The option sets `Invocation.is_json`. `text` is the option's help.
    """

    def collect(context: click.Context, parameter: click.Parameter, value: bool) -> None:
        invocation_of(context).is_json |= value

    def add(command: Command) -> Command:
        setattr(command, JSON_FORM, JsonForm(result, lines))
        option = click.option(
            "--json", is_flag=True, expose_value=False, callback=collect, help=text
        )
        return option(command)

    return add


def print_message(invocation: Invocation[Any], report: MessageReport) -> None:
    """Print a report's message, or the whole report with `--json`."""
    if invocation.is_json:
        print_json(report)
    else:
        click.echo(report.message)


def print_json(document: object) -> None:
    """Print one document. Values that JSON cannot express, such as NaN, are null."""
    click.echo(orjson.dumps(document, default=str, option=_OPTIONS | orjson.OPT_INDENT_2))


def print_json_line(document: object) -> None:
    """Print one document on one line, and flush it."""
    click.echo(orjson.dumps(document, default=str, option=_OPTIONS))


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
    """Print a table on a terminal. In a pipe, format each row with `line`, or as plain columns.

    Columns in `right` are right-aligned.
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
    """Align rows, with at least two spaces between cells. No cell is empty or contains two spaces.

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
