"""Options of jobs, as on a command line."""

from collections.abc import Mapping
from typing import TypeVar

from sidecar.properties.loading import load
from sidecar.properties.model import Properties
from sidecar.properties.source import command_line_settings

_Options = TypeVar("_Options", bound=Properties)


def options_of(model: type[_Options], settings: Mapping[str, str]) -> _Options:
    """Options by name, such as `{"topics": "a,b"}`."""
    overrides = command_line_settings([f"{name}={value}" for name, value in settings.items()])
    return load(model, [], overrides=overrides).properties


def dotted(settings: Mapping[str, str]) -> dict[str, str]:
    """Option names from names of keyword arguments, with `.` for `_`."""
    return {name.replace("_", "."): value for name, value in settings.items()}
