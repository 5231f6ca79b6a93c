"""The ids of schemas that messages need where keys or values are Avro."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from commitlog import SchemaIds, Unregistered
from sidecar.schema_registry.registrar import Registrar, Side, create_registrar
from sidecar.schema_registry.registration import SchemaRegistration, SchemaRequests
from sidecar.schema_registry.settings import RegistrySettings


@dataclass(frozen=True, slots=True)
class Schemas:
    ids: SchemaIds
    registrar: Registrar[Unregistered]
    registration: SchemaRegistration[Unregistered]
    requests: SchemaRequests[Unregistered]


def create_schemas(
    registries: Callable[[], Mapping[Side, RegistrySettings]],
    blocked_timeout_ms: int,
    transaction_topic: str | None,
    *,
    waits_when_denied: bool = True,
) -> Schemas:
    """By the settings of the sides that are Avro; `registries` is asked again after denied access.
    `transaction_topic` has the begin and end of
    transactions, which are never abandoned. Raises ConfigError."""
    ids = SchemaIds()
    registrar = create_registrar(ids, registries, waits_when_denied=waits_when_denied)
    registration = SchemaRegistration(
        ids, registrar, blocked_timeout_ms / 1000, never_abandoned=transaction_topic
    )
    return Schemas(ids, registrar, registration, SchemaRequests(registrar))
