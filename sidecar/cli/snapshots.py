"""Shared parts of the commands that control the snapshots of a running agent."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from typing import Any

import click
import orjson
from rich.console import Console, RenderableType
from rich.live import Live
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from sidecar.errors import AccessDeniedError

_FOLLOW_INTERVAL_S = 1.0
Document = Mapping[str, Any]

url_option = click.option("--url", help="URL of the agent. Default: `http.host` and `http.port`.")


def print_answer(is_accepted: bool, message: str) -> None:
    """Print the message of an accepted request. Raises AccessDeniedError for a rejected one."""
    if not is_accepted:
        raise AccessDeniedError(message)
    click.echo(message)


def show_progress(
    fetch: Callable[[], Document],
    lines: Callable[[Document], Iterator[str]],
    drawn: Callable[[Document], RenderableType],
    *,
    as_json: bool,
    is_followed: Callable[[Document], bool],
) -> None:
    """Show progress until `is_followed` is false: `drawn` on a terminal, `lines` in a pipe."""
    is_drawn = sys.stdout.isatty() and not as_json
    with Live(console=Console(), auto_refresh=False) if is_drawn else nullcontext() as live:
        while True:
            progress = fetch()
            if live is not None:
                live.update(drawn(progress), refresh=True)
            elif as_json:
                click.echo(orjson.dumps(progress).decode())
            else:
                click.echo("\n".join(lines(progress)))
            if not is_followed(progress):
                return
            time.sleep(_FOLLOW_INTERVAL_S)


def empty_bars() -> Progress:
    """Progress bars whose tasks have a `note`."""
    note = TextColumn("{task.fields[note]}")
    return Progress(TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), note)
