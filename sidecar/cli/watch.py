"""Prints the result of a command once, or with `--watch` until Ctrl-C."""

import sys
import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Generic, NoReturn, TypeVar

from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from sidecar.cli.output import ErrorReport, print_json, print_json_line
from sidecar.errors import UnavailableError

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Forms(Generic[Result]):
    """The forms of a result besides JSON: for a pipe, and for a terminal."""

    lines: Callable[[Result], Iterable[str]]
    drawn: Callable[[Result], RenderableType]


def print_result(found: Result, forms: Forms[Result], *, as_json: bool) -> None:
    if as_json:
        print_json(found)
    elif sys.stdout.isatty():
        Console().print(forms.drawn(found))
    else:
        print("\n".join(forms.lines(found)))


def watch(
    fetch: Callable[[], Result], forms: Forms[Result], interval_s: float, *, as_json: bool
) -> NoReturn:
    """Print results until interrupted. Print UnavailableError and call `fetch` again."""
    is_drawn = sys.stdout.isatty() and not as_json
    with Live(console=Console(), auto_refresh=False) if is_drawn else nullcontext() as live:
        while True:
            try:
                found = fetch()
            except UnavailableError as error:
                text = str(error)
                if live is not None:
                    live.update(Text(text), refresh=True)
                elif as_json:
                    print_json_line(ErrorReport(text, error.exit_code, (text,)))
                else:
                    print(text, flush=True)
            else:
                if live is not None:
                    live.update(forms.drawn(found), refresh=True)
                elif as_json:
                    print_json_line(found)
                else:
                    print("\n".join(forms.lines(found)), end="\n\n", flush=True)
            time.sleep(interval_s)
