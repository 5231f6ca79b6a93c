"""Renamed commands and options: the old names still work, hidden, with a warning."""

import copy
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from sidecar.cli.invocation import Command


def deprecated_command(command: click.Command, old: str, new: str) -> click.Command:
    """A hidden copy of a command or group under its `old` name, which warns and then runs it.

    `new` is the command line to use instead, such as `agent quarantine`. A group that contains the
    copy finds it by the last word of `old`.
    """
    alias = copy.copy(command)
    alias.name = old.rsplit(" ", 1)[-1]
    alias.hidden = True
    run = command.callback

    def warn_and_run(*arguments: Any, **options: Any) -> Any:
        warn_renamed(old, new)
        return run(*arguments, **options) if run is not None else None

    alias.callback = wraps(run)(warn_and_run) if run is not None else warn_and_run
    return alias


def deprecated_option(old: str, new: str, **attributes: Any) -> Callable[[Command], Command]:
    """`old`, such as `--copies`, as a hidden alias of the option `new`, which it warns about.

    `attributes` are those of the option `new` that decide how its value is read (`type`,
    `multiple`, `is_flag`). An explicit `new` takes precedence.
    """
    target = new.lstrip("-").replace("-", "_")

    def accept(context: click.Context, parameter: click.Parameter, value: Any) -> None:
        if value is None or value is False or value == ():
            return
        warn_renamed(old, new)
        context.default_map = {**(context.default_map or {}), target: value}

    return click.option(
        old, hidden=True, is_eager=True, expose_value=False, callback=accept, **attributes
    )


def former_option(old: str, metavar: str) -> Callable[[Command], Command]:
    """`old`, such as `--table`, hidden: its values are arguments now. The command gets them, as
    `former`, and adds them to its arguments."""

    def accept(
        context: click.Context, parameter: click.Parameter, value: tuple[str, ...]
    ) -> tuple[str, ...]:
        if value:
            warn_renamed(old, metavar)
        return value

    return click.option(old, "former", multiple=True, hidden=True, callback=accept)


def warn_renamed(old: str, new: str) -> None:
    """Warn on standard error about an old form, which works for one release."""
    print(f"warning: `{old}`: renamed in 0.2.0. Use `{new}`.", file=sys.stderr)
