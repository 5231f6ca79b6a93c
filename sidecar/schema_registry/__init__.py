"""A schema registry that speaks Confluent's HTTP API: settings, and a client."""

from sidecar.schema_registry.client import (
    RefusedSchemaError,
    RegistryClient,
    SchemaRegistry,
)
from sidecar.schema_registry.settings import RegistrySettings, Strategy, registry_settings

__all__ = [
    "RefusedSchemaError",
    "RegistryClient",
    "RegistrySettings",
    "SchemaRegistry",
    "Strategy",
    "registry_settings",
]
