"""Options of jobs, given as on a command line."""

from collections.abc import Mapping
from typing import TypeVar

from sidecar.properties import Properties, command_line_settings, load

_Options = TypeVar("_Options", bound=Properties)


def options_of(model: type[_Options], settings: Mapping[str, str]) -> _Options:
    """By their names, `{"topics": "a,b"}`."""
    overrides = command_line_settings([f"{name}={value}" for name, value in settings.items()])
    return load(model, [], overrides=overrides).properties


def dotted(settings: Mapping[str, str]) -> dict[str, str]:
    """Names of keyword arguments, with `_` for the dots, as those of options."""
    return {name.replace("_", "."): value for name, value in settings.items()}
