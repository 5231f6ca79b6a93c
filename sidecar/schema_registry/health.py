"""What `/health` reports of the schema registry."""

from collections.abc import Iterator
from typing import Any

from sidecar.health import Component, Condition, State, Status, component_of
from sidecar.schema_registry.registrar import Registrar

_COMPONENT = "schema_registry"


def registry_conditions(error: str) -> Iterator[Condition]:
    """`error` is why a schema has no id; empty while every schema has one."""
    if error:
        yield Condition(
            "schema_registry_unavailable",
            State.DEGRADED,
            _COMPONENT,
            f"A schema cannot be registered: {error}",
            "Start the schema registry or correct its properties; `check` verifies them. Events of "
            "registered schemas are published meanwhile.",
        )


def registry_component(status: Status, registrar: Registrar[Any]) -> Component:
    """How many schemas have an id."""
    count = registrar.registered
    details = {"registered": count}
    return component_of(status, _COMPONENT, f"{count} schemas have an id", details)
