"""Manual pages and shell completions, generated from the command line of an agent."""

import gzip
import importlib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import cast

import click
from click.shell_completion import get_completion_class
from click_man.core import write_man_pages

from cdc_extension import __version__

_COMPLETION_FILES: Mapping[str, str] = MappingProxyType(
    {"bash": "{command}", "zsh": "_{command}", "fish": "{command}.fish"}
)


def command_line(module: str) -> click.Group:
    """The click group of an entry point such as `agent.start`."""
    package = module.partition(".")[0]
    entry = importlib.import_module(f"{package}.cli.entry")
    return cast(click.Group, getattr(entry, package))


def write_manual(command: str, module: str, directory: Path) -> None:
    """Writes a compressed page for the command and for each of its commands."""
    directory.mkdir(parents=True)
    write_man_pages(command, command_line(module), version=__version__, target_dir=str(directory))
    for page in sorted(directory.glob("*.1")):
        # Without the time of the build, so that two builds are equal.
        (directory / f"{page.name}.gz").write_bytes(gzip.compress(page.read_bytes(), mtime=0))
        page.unlink()


def write_completions(command: str, module: str, directory: Path) -> None:
    """Writes scripts for bash, zsh and fish."""
    variable = f"_{command.replace('-', '_').upper()}_COMPLETE"
    for shell, name in _COMPLETION_FILES.items():
        kind = get_completion_class(shell)
        assert kind is not None
        script = kind(command_line(module), {}, command, variable).source()
        target = directory / shell / name.format(command=command)
        target.parent.mkdir(parents=True)
        target.write_text(script)
