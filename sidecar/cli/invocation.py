"""Options of every command: properties files, overrides, and whether to print tracebacks."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import click

from sidecar.config.settings import SidecarProperties
from sidecar.errors import ConfigError
from sidecar.properties.loading import LoadedProperties
from sidecar.properties.model import Properties

Command = TypeVar("Command", bound=Callable[..., Any])


class Configuration(Protocol):
    """The common part of the agents' configurations."""

    @property
    def loaded(self) -> LoadedProperties[Properties]: ...

    @property
    def properties(self) -> SidecarProperties: ...

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings to log at startup."""


Config = TypeVar("Config", bound=Configuration)


@dataclass
class Invocation(Generic[Config]):
    """The common options, given before or after the command's name."""

    command: str
    """Name of the program, for messages."""
    load: Callable[[list[Path], list[str]], Config]
    """Loads files and `NAME=VALUE` overrides. Raises `ConfigError`."""
    problems: Callable[[Config], list[str]]
    """Returns the problems with a configuration's directories."""
    files: list[Path] = field(default_factory=list)
    overrides: list[str] = field(default_factory=list)
    is_debugging: bool = False
    is_json: bool = False
    """Whether results and errors are printed as JSON."""

    def config(self) -> Config:
        """Load the configuration. Raises `ConfigError`."""
        if not self.files:
            raise ConfigError("No configuration file. Specify it with --config FILE.")
        return self.load(self.files, self.overrides)

    def usable_config(self) -> Config:
        """Load the configuration and check its directories. Raises `ConfigError`."""
        config = self.config()
        problems = self.problems(config)
        if problems:
            raise ConfigError(*problems)
        return config


def invocation_of(context: click.Context) -> Invocation[Any]:
    """Return the invocation that `run_command_line` passed to the command."""
    invocation = context.find_object(Invocation)
    assert invocation is not None
    return invocation


def _collect(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def collect(context: click.Context, parameter: click.Parameter, value: Any) -> None:
        invocation = invocation_of(context)
        if name == "is_debugging":
            invocation.is_debugging |= value
        else:
            getattr(invocation, name).extend(value)

    return collect


def configuration_options(command: Command) -> Command:
    """Add `--config` and `--set`, which work before and after a command's name."""
    command = click.option(
        "--set",
        multiple=True,
        metavar="NAME=VALUE",
        expose_value=False,
        callback=_collect("overrides"),
        help="Override one property; repeatable.",
    )(command)
    return click.option(
        "--config",
        multiple=True,
        type=click.Path(path_type=Path),
        metavar="FILE",
        expose_value=False,
        callback=_collect("files"),
        help="Properties file; repeatable, later files take precedence.",
    )(command)


def debug_option(command: Command) -> Command:
    return click.option(
        "--debug",
        is_flag=True,
        expose_value=False,
        callback=_collect("is_debugging"),
        help="Show tracebacks.",
    )(command)
