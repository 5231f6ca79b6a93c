"""What every command shares: the properties files, overrides, and whether tracebacks are wanted."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import click

from agent.config import AgentConfig, load_config
from sidecar.errors import ConfigError

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass
class Invocation:
    """Collected from the options before and behind the name of the command."""

    files: list[Path] = field(default_factory=list)
    overrides: list[str] = field(default_factory=list)
    is_debugging: bool = False

    def config(self) -> AgentConfig:
        """Raises `ConfigError`."""
        self.require_files()
        return load_config(self.files, self.overrides)

    def require_files(self) -> None:
        """Raises `ConfigError` when no file was named."""
        if not self.files:
            raise ConfigError("Which configuration? Give it with --config cdc.properties.")


def _collect(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def collect(context: click.Context, parameter: click.Parameter, value: Any) -> None:
        invocation = context.ensure_object(Invocation)
        if name == "is_debugging":
            invocation.is_debugging |= value
        else:
            getattr(invocation, name).extend(value)

    return collect


def configuration_options(command: Command) -> Command:
    """`--config` and `--set`, which mean the same before and behind the name of a command."""
    command = click.option(
        "--set",
        multiple=True,
        metavar="NAME=VALUE",
        expose_value=False,
        callback=_collect("overrides"),
        help="One property, over the files; repeatable.",
    )(command)
    return click.option(
        "--config",
        multiple=True,
        type=click.Path(path_type=Path),
        metavar="FILE",
        expose_value=False,
        callback=_collect("files"),
        help="Properties file; of several, later ones over earlier ones.",
    )(command)


def debug_option(command: Command) -> Command:
    """`--debug`."""
    return click.option(
        "--debug",
        is_flag=True,
        expose_value=False,
        callback=_collect("is_debugging"),
        help="Show tracebacks.",
    )(command)
