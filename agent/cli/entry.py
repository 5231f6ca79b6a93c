"""The command `agent`."""

import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from agent.cli.check import check
from agent.cli.config import config
from agent.cli.dump import dump
from agent.cli.faults import exit_with
from agent.cli.invocation import Invocation, configuration_options, debug_option
from agent.cli.offsets import offsets
from agent.cli.run import run
from agent.cli.verify import verify
from commitlog import __version__
from sidecar import early_stop

_INTERRUPTED = 130


@click.group(
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="agent", message="%(prog)s %(version)s")
@debug_option
@configuration_options
@click.pass_context
def agent(context: click.Context) -> None:
    """Change data capture for the Apache Cassandra node on this machine.

    `agent --config cdc.properties` runs until it is asked to stop (SIGTERM). Exit codes: 0 stopped
    on request, 2 configuration, 3 another instance works on the same directories, 4 a component
    refused us, 1 anything else.
    """
    if context.invoked_subcommand not in (None, run.name):
        early_stop.release()
    if context.invoked_subcommand is None:
        if not context.ensure_object(Invocation).files:
            click.echo(context.get_help())
            return
        context.invoke(run)


for command in (run, config, check, offsets, dump, verify):
    agent.add_command(command)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs a command line and ends the process with its exit code."""
    invocation = Invocation()
    try:
        code = agent.main(
            args=None if arguments is None else list(arguments),
            prog_name="agent",
            obj=invocation,
            standalone_mode=False,
        )
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(_INTERRUPTED)
    except Exception as error:
        exit_with(error, is_debugging=invocation.is_debugging)
    sys.exit(code if isinstance(code, int) else 0)
