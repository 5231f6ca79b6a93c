"""What `/health` says of the schema registry."""

from typing import Any

from sidecar.http import Component
from sidecar.schema_registry.registrar import Registrar


def registry_component(registrar: Registrar[Any]) -> Component:
    """Healthy while every schema has the id that was asked for."""
    trouble, count = registrar.trouble, registrar.registered
    sentence = trouble or f"{count} schemas have an id"
    return Component("schema_registry", not trouble, sentence, {"registered": count})
