"""`agent config check`, `show` and `docs`."""

import sys

import click
from rich.console import Console
from rich.table import Table

from agent.cli.invocation import Invocation, configuration_options
from agent.config import config_problems
from agent.config.document import configuration_document
from sidecar.errors import ConfigError
from sidecar.properties import Loaded, Properties, rows


@click.group("config", short_help="Check, show or document the configuration.")
@configuration_options
def config() -> None:
    """The configuration, without touching the node or the broker."""


@config.command("check", short_help="Say what is wrong with it.")
@configuration_options
@click.pass_obj
def check(invocation: Invocation) -> None:
    """Name every mistake in the files and in the directories they name; exit code 2 if there is
    one."""
    invocation.require_files()
    problems = config_problems(invocation.files, invocation.overrides)
    if problems:
        raise ConfigError(*problems)
    loaded = invocation.config()
    for warning in loaded.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    print("The configuration is good.")


@config.command("show", short_help="Show what is in force.")
@configuration_options
@click.option("--all", "show_all", is_flag=True, help="Properties at their defaults too.")
@click.pass_obj
def show(invocation: Invocation, show_all: bool) -> None:
    """Each property in force and where it comes from; secrets are masked."""
    config = invocation.config()
    loaded: Loaded[Properties] = Loaded(config.properties, config.loaded.settings, ())
    shown = [row for row in rows(loaded) if show_all or str(row.origin) != "default"]
    if not sys.stdout.isatty():
        for row in shown:
            print(f"{row.name}={row.value}  # {row.origin}")
        return
    table = Table("property", "value", "from")
    for row in shown:
        table.add_row(row.name, row.value, str(row.origin))
    Console().print(table)


@config.command("docs", short_help="Print docs/configuration.md.")
def docs() -> None:
    """Every property, in Markdown."""
    click.echo(configuration_document(), nl=False)
