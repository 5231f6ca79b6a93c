"""What every command shares: the properties files, overrides, and whether tracebacks are wanted."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import click

from sidecar.config.settings import SidecarProperties
from sidecar.errors import ConfigError
from sidecar.properties import Loaded, Properties

Command = TypeVar("Command", bound=Callable[..., Any])


class Configuration(Protocol):
    """What every agent's configuration has."""

    @property
    def loaded(self) -> Loaded[Properties]: ...

    @property
    def properties(self) -> SidecarProperties: ...

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences worth saying at a start."""


Config = TypeVar("Config", bound=Configuration)


@dataclass
class Invocation(Generic[Config]):
    """Collected from the options before and behind the name of the command."""

    command: str
    """Its name, for messages."""
    load: Callable[[list[Path], list[str]], Config]
    """Of files and `name=value` overrides. Raises `ConfigError`."""
    problems: Callable[[Config], list[str]]
    """What is wrong with the directories that a configuration names."""
    files: list[Path] = field(default_factory=list)
    overrides: list[str] = field(default_factory=list)
    is_debugging: bool = False

    def config(self) -> Config:
        """Raises `ConfigError`."""
        if not self.files:
            raise ConfigError("Which configuration? Give it with --config FILE.")
        return self.load(self.files, self.overrides)

    def usable_config(self) -> Config:
        """The same with directories that can be used. Raises `ConfigError`."""
        config = self.config()
        problems = self.problems(config)
        if problems:
            raise ConfigError(*problems)
        return config


def invocation_of(context: click.Context) -> Invocation[Any]:
    """That of a command that `run_command_line` runs."""
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
