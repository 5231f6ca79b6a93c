"""A client of schema registries with Confluent's HTTP API, and the registration of schemas."""

from sidecar.schema_registry.client import (
    RegistryClient,
    SchemaRegistry,
    SchemaRejectedError,
)
from sidecar.schema_registry.registrar import (
    Registrar,
    Registration,
    RegistrationStatus,
    Subjects,
    create_registrar,
)
from sidecar.schema_registry.settings import RegistrySettings, Strategy, registry_settings

__all__ = [
    "Registrar",
    "Registration",
    "RegistrationStatus",
    "RegistryClient",
    "RegistrySettings",
    "SchemaRegistry",
    "SchemaRejectedError",
    "Strategy",
    "Subjects",
    "create_registrar",
    "registry_settings",
]
