"""A schema registry that speaks Confluent's HTTP API: settings, a client, and who asks it."""

from sidecar.schema_registry.client import (
    RefusedSchemaError,
    RegistryClient,
    SchemaRegistry,
)
from sidecar.schema_registry.registrar import (
    Answer,
    Outcome,
    Registrar,
    Subjects,
    create_registrar,
)
from sidecar.schema_registry.settings import RegistrySettings, Strategy, registry_settings

__all__ = [
    "Answer",
    "Outcome",
    "RefusedSchemaError",
    "Registrar",
    "RegistryClient",
    "RegistrySettings",
    "SchemaRegistry",
    "Strategy",
    "Subjects",
    "create_registrar",
    "registry_settings",
]
