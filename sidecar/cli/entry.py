"""Runs a command line and ends the process with its exit code."""

import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from sidecar.cli.faults import exit_with
from sidecar.cli.invocation import Invocation, invocation_of
from sidecar.errors import ConfigError
from sidecar.process import deferred_sigterm

CONTEXT_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
_INTERRUPTED = 130


def begin(context: click.Context, run: click.Command) -> None:
    """Run the group itself: `run` is the default command.

    Without a configuration it prints the help and raises ConfigError. SIGTERM ends every command
    other than `run` at once.
    """
    if context.invoked_subcommand not in (None, run.name):
        deferred_sigterm.release()
    if context.invoked_subcommand is not None:
        return
    if invocation_of(context).files:
        context.invoke(run)
        return
    click.echo(context.get_help(), err=True)
    raise ConfigError(f"No configuration file. Name it: {context.info_name} --config FILE")


def run_command_line(
    group: click.Group,
    invocation: Invocation[Any],
    arguments: Sequence[str] | None,
    expected: tuple[type[BaseException], ...] = (),
) -> NoReturn:
    """Run a command line, by default that of the process, and end the process.

    `expected` are further exceptions whose messages are complete for the user.
    """
    try:
        code = group.main(
            args=None if arguments is None else list(arguments),
            prog_name=invocation.command,
            obj=invocation,
            standalone_mode=False,
        )
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(_INTERRUPTED)
    except Exception as error:
        exit_with(
            error, invocation.command, is_debugging=invocation.is_debugging, expected=expected
        )
    sys.exit(code if isinstance(code, int) else 0)
