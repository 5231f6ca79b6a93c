"""Runs a command line, exits the process with its code, and completes commands in a shell."""

import shlex
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import click
from click.shell_completion import get_completion_class

from cdc_extension import __version__
from sidecar.cli.invocation import (
    Invocation,
    configuration_options,
    debug_option,
    invocation_of,
)
from sidecar.errors import ConfigError, SidecarError
from sidecar.process import deferred_sigterm
from sidecar.properties.show import runnable

CONTEXT_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
_FAULT = 1
_INTERRUPTED = 130
_CONFIGURATION_SUFFIXES = (".conf", ".json", ".properties")


Commands = Callable[[], Iterable[click.Command]]


class AgentGroup(click.Group):
    """Loads the commands beside `run` when one is needed: a running agent needs none of their
    libraries."""

    def __init__(self, name: str, *, load: Commands, **options: Any) -> None:
        super().__init__(name, **options)
        self._load = load

    def list_commands(self, context: click.Context) -> list[str]:
        self._load_all()
        return super().list_commands(context)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in self.commands:
            self._load_all()
        return super().get_command(context, name)

    def _load_all(self) -> None:
        for command in self._load():
            self.add_command(command)


def agent_group(name: str, about: str, run: click.Command, load: Commands) -> AgentGroup:
    """Create the command line `name` with the help `about`: the default command `run`, the shared
    commands, and the agent's own commands, which `load` returns."""

    def load_all() -> Iterable[click.Command]:
        from sidecar.cli.fleet import fleet
        from sidecar.cli.status import status_command

        return status_command(), fleet, completion_command(name), *load()

    @click.group(
        name,
        AgentGroup,
        load=cache(load_all),
        help=about,
        invoke_without_command=True,
        context_settings=CONTEXT_SETTINGS,
    )
    @click.version_option(__version__, prog_name=name, message="%(prog)s %(version)s")
    @debug_option
    @configuration_options
    @click.pass_context
    def group(context: click.Context) -> None:
        _begin(context, run)

    group.add_command(run)
    return group


def _begin(context: click.Context, run: click.Command) -> None:
    """Run the default command `run` if the user gives no command.

    Without a configuration file, print the help and raise ConfigError. SIGTERM terminates every
    command except `run` immediately.
    """
    if context.invoked_subcommand not in (None, run.name):
        deferred_sigterm.release()
    if context.invoked_subcommand is not None:
        return
    if invocation_of(context).files:
        context.invoke(run)
        return
    click.echo(context.get_help(), err=True)
    raise ConfigError(f"No configuration file. Specify it: {context.info_name} --config FILE")


def run_command_line(
    group: click.Group,
    invocation: Invocation[Any],
    arguments: Sequence[str] | None,
    expected: tuple[type[BaseException], ...] = (),
) -> NoReturn:
    """Run a command line, by default the process's arguments, and exit.

    `expected` are further exceptions whose messages the user can read without a traceback.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    # click reports invalid arguments before it evaluates `--json`.
    invocation.is_json = "--json" in given
    try:
        code = group.main(
            args=given,
            prog_name=invocation.command,
            obj=invocation,
            standalone_mode=False,
        )
    except click.ClickException as error:
        hint = option_hint(error.format_message(), given)
        if invocation.is_json:
            _print_error([error.format_message() + hint], error.exit_code)
        else:
            error.show()
            if hint:
                print(hint.lstrip(), file=sys.stderr)
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(_INTERRUPTED)
    except Exception as error:
        _exit_with(error, invocation, expected)
    sys.exit(code if isinstance(code, int) else 0)


def option_hint(message: str, arguments: Sequence[str]) -> str:
    """Return the option for a rejected argument in the style of other programs (`-D`, a bare file),
    or an empty text."""
    for each in arguments:
        if each.startswith("-D") and "-D" in message:
            return f" Set a property with --set {shlex.quote(each[2:] or 'NAME=VALUE')}."
        if Path(each).suffix in _CONFIGURATION_SUFFIXES and each in message:
            return f" Specify a configuration file with --config {shlex.quote(each)}."
    return ""


def _exit_with(
    error: Exception, invocation: Invocation[Any], expected: tuple[type[BaseException], ...]
) -> NoReturn:
    """Print the error on stderr, or as JSON on stdout, and exit with the error's code
    (`sidecar.errors`). Print a traceback only with `--debug`."""
    command, is_debugging = invocation.command, invocation.is_debugging
    is_expected = isinstance(error, (SidecarError, OSError, *expected))
    if is_debugging:
        traceback.print_exception(error)
    code = error.exit_code if isinstance(error, SidecarError) else _FAULT
    sentences = [runnable(each, invocation.files) for each in _sentences(error, is_expected)]
    if invocation.is_json:
        _print_error(sentences, code)
        sys.exit(code)
    for sentence in sentences:
        print(f"{command}: {sentence}", file=sys.stderr)
    if not is_debugging and not is_expected:
        print(f"{command}: run it with --debug for the traceback.", file=sys.stderr)
    sys.exit(code)


def _print_error(sentences: Sequence[str], code: int) -> None:
    from sidecar.cli.output import ErrorReport, print_json

    print_json(ErrorReport("\n".join(sentences), code, tuple(sentences)))


def _sentences(error: BaseException, is_expected: bool) -> list[str]:
    if isinstance(error, ConfigError):
        return list(error.problems)
    if isinstance(error, OSError) and error.filename is not None:
        return [f"{error.filename}: {error.strerror}."]
    if is_expected:
        return [str(error)]
    return [f"Unexpected error: {type(error).__name__}: {error}"]


_SHELLS = ("bash", "zsh", "fish")


def completion_command(name: str) -> click.Command:
    @click.command("completion", short_help="Print the completion script of a shell.")
    @click.argument("shell", type=click.Choice(_SHELLS))
    @click.pass_context
    def completion(context: click.Context, shell: str) -> None:
        """Print the script that completes commands and options in SHELL.

        Load it in the shell's startup file, such as `eval "$(agent completion bash)"` in ~/.bashrc.
        """
        variable = f"_{name.replace('-', '_').upper()}_COMPLETE"
        kind = get_completion_class(shell)
        assert kind is not None
        click.echo(kind(context.find_root().command, {}, name, variable).source())

    return completion
