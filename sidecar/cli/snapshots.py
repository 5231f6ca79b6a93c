"""Shared parts of the commands that control a running agent's snapshots."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import click
from rich.console import Console, RenderableType
from rich.live import Live
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from sidecar.cli.agent_client import agents_answer
from sidecar.cli.invocation import Invocation
from sidecar.cli.output import MessageReport, print_json_line, print_message
from sidecar.errors import SidecarError

_FOLLOW_INTERVAL_S = 1.0
Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SnapshotAnswer(MessageReport):
    """The agent's answer to an accepted request."""

    names: tuple[str, ...]
    """The tables or collections of the request; empty for all."""


def print_answer(
    invocation: Invocation[Any], answers: Sequence[tuple[bool, str]], names: Sequence[str]
) -> None:
    """Print the messages of accepted requests. Raises SidecarError if one was rejected."""
    rejected = [message for is_accepted, message in answers if not is_accepted]
    accepted = "\n".join(message for is_accepted, message in answers if is_accepted)
    if rejected:
        if accepted and not invocation.is_json:
            click.echo(accepted)
        raise SidecarError("\n".join(rejected))
    print_message(invocation, SnapshotAnswer(accepted, tuple(names)))


def show_progress(
    fetch: Callable[[], Document],
    lines: Callable[[Document], Iterator[str]],
    drawn: Callable[[Document], RenderableType],
    *,
    as_json: bool,
    is_followed: Callable[[Document], bool],
) -> None:
    """Show progress while `is_followed` is true: `drawn` on a terminal, `lines` in a pipe."""
    is_drawn = sys.stdout.isatty() and not as_json
    with Live(console=Console(), auto_refresh=False) if is_drawn else nullcontext() as live:
        while True:
            with agents_answer():
                progress = fetch()
                if live is not None:
                    live.update(drawn(progress), refresh=True)
                elif as_json:
                    print_json_line(progress)
                else:
                    click.echo("\n".join(lines(progress)))
                if not is_followed(progress):
                    return
            time.sleep(_FOLLOW_INTERVAL_S)


def empty_bars() -> Progress:
    """Create progress bars with a `note` for each task."""
    note = TextColumn("{task.fields[note]}")
    return Progress(TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), note)
