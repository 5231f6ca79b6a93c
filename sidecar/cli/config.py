"""The commands `config check`, `show` and `docs`."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import click

from sidecar.cli.invocation import Configuration, Invocation, configuration_options
from sidecar.cli.output import json_output, print_json, print_rows
from sidecar.errors import ConfigError
from sidecar.properties.show import EffectiveProperty, rows
from sidecar.transform import transform_named


def config_group(document: Callable[[], str], page: str) -> click.Group:
    """Create the command group `config`; `document` returns the reference page `page`."""

    @click.group("config", short_help="Check, show or document the configuration.")
    @configuration_options
    def config() -> None:
        """Check, show or document the configuration, without a database or broker."""

    @config.command("docs", short_help=f"Print {page}.")
    def docs() -> None:
        """Print every property as Markdown."""
        click.echo(document(), nl=False)

    config.add_command(_check)
    config.add_command(_show)
    return config


@dataclass(frozen=True, slots=True)
class ConfigCheck:
    """The result for a valid configuration."""

    is_valid: Literal[True]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EffectiveConfig:
    """The effective configuration."""

    properties: tuple[EffectiveProperty, ...]
    warnings: tuple[str, ...]


@click.command("check", short_help="Check the configuration.")
@configuration_options
@json_output(ConfigCheck)
@click.pass_obj
def _check(invocation: Invocation[Any]) -> None:
    """Report every mistake in the files, their directories and the Kafka client's settings.

    Exit code 2: there is a mistake.
    """
    config = invocation.config()
    # Imported here: the Kafka client loads slowly.
    from sidecar.delivery.sink_registry import sink_problems

    problems = [
        *invocation.problems(config),
        *sink_problems(config.properties),
        *_transform_problems(config.properties.event_transform),
    ]
    if problems:
        raise ConfigError(*problems)
    if invocation.is_json:
        print_json(ConfigCheck(True, tuple(config.warnings)))
        return
    _warn(config)
    print("The configuration is valid.")


@click.command("show", short_help="Show the effective configuration.")
@configuration_options
@click.option("--all", "show_all", is_flag=True, help="Show properties with default values too.")
@json_output(EffectiveConfig)
@click.pass_obj
def _show(invocation: Invocation[Any], show_all: bool) -> None:
    """Show each effective property with its origin; secrets are masked.

    Warnings about settings without effect go to standard error.
    """
    config = invocation.config()
    shown = [row for row in rows(config.loaded) if show_all or row.origin != "default"]
    if invocation.is_json:
        print_json(EffectiveConfig(tuple(shown), tuple(config.warnings)))
        return
    _warn(config)
    print_rows(
        ("property", "value", "origin"),
        [(row.name, row.value, row.origin) for row in shown],
        lambda name, value, origin: f"{name}={value}  # {origin}",
    )


def _transform_problems(name: str | None) -> tuple[str, ...]:
    try:
        if name is not None:
            transform_named(name)
    except ConfigError as error:
        return error.problems
    return ()


def _warn(config: Configuration) -> None:
    for warning in config.warnings:
        print(f"warning: {warning}", file=sys.stderr)
