"""Loads a user's Python object that a property specifies as `module:name`."""

import importlib
from collections.abc import Callable
from typing import Any

from sidecar.errors import ConfigError


def load_named(property_name: str, name: str, kind: str, is_kind: Callable[[Any], bool]) -> Any:
    """Import the object. `is_kind` checks it, and `kind` describes it. Raises ConfigError."""
    module_name, _, object_name = name.partition(":")
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        raise ConfigError(
            f"`{property_name}={name}`: the module {module_name} cannot be imported "
            f"({type(error).__name__}: {error}). Put it on PYTHONPATH or install it."
        ) from error
    found = getattr(module, object_name, None)
    if not is_kind(found):
        raise ConfigError(
            f"`{property_name}={name}`: the module {module_name} has no {kind} {object_name}. "
            "Correct the name."
        )
    return found
