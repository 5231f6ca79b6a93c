"""Schema ids from the registries of keys and values.

A message is sent only after its schemas have ids. Encoders request them here, on a thread that may
wait for a slow registry; any thread may read the result.
"""

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Generic, Literal, Protocol, TypeVar

from sidecar.errors import AccessDeniedError, UnavailableError
from sidecar.logs import fields
from sidecar.schema_registry.client import RegistryClient, SchemaRegistry, SchemaRejectedError
from sidecar.schema_registry.settings import RegistrySettings, Strategy

logger = logging.getLogger(__name__)


class Unregistered(Protocol):
    """A schema without an id, with the names that its subject may derive from."""

    @property
    def side(self) -> Literal["key", "value"]: ...
    @property
    def topic(self) -> str: ...
    @property
    def record(self) -> str:
        """Full name of the record."""

    @property
    def schema(self) -> str:
        """Avro's JSON."""


SchemaOf = TypeVar("SchemaOf", bound=Unregistered)
SchemaOf_contra = TypeVar("SchemaOf_contra", bound=Unregistered, contravariant=True)


class SchemaIds(Protocol[SchemaOf_contra]):
    """Known ids. Thread-safe."""

    def get(self, schema: SchemaOf_contra) -> int | None: ...
    def set(self, schema: SchemaOf_contra, id: int) -> None: ...


class RegistrationStatus(Enum):
    PENDING = auto()
    """No registry has answered yet."""
    REGISTERED = auto()
    """Every schema has an id."""
    UNAVAILABLE = auto()
    """The registry does not answer, or not in time."""
    REJECTED = auto()
    """The registry rejects a schema."""


@dataclass(frozen=True, slots=True)
class Registration:
    """The result of a request for ids."""

    status: RegistrationStatus
    error: str = ""
    """The cause, unless the schemas are registered or pending."""


@dataclass(frozen=True, slots=True)
class Subjects:
    """The registry of one side (key or value), and how it names subjects."""

    registry: SchemaRegistry
    strategy: Strategy


def create_registrar(
    ids: SchemaIds[SchemaOf],
    registries: Mapping[Literal["key", "value"], RegistrySettings],
    *,
    waits_when_denied: bool = True,
) -> "Registrar[SchemaOf]":
    """A registrar for the sides that are Avro.

    With `waits_when_denied` the agent retries a registry that denies it access; otherwise it ends.
    Raises ConfigError.
    """
    clients = {side: RegistryClient(settings) for side, settings in registries.items()}
    sides: dict[str, Subjects] = {
        side: Subjects(client, registries[side].strategy) for side, client in clients.items()
    }
    return Registrar(
        ids, sides, clients=tuple(clients.values()), waits_when_denied=waits_when_denied
    )


class Registrar(Generic[SchemaOf]):
    """Registers schemas, one request at a time; any thread may read the state."""

    def __init__(
        self,
        ids: SchemaIds[SchemaOf],
        sides: Mapping[str, Subjects],
        *,
        clients: Sequence[RegistryClient] = (),
        waits_when_denied: bool = False,
    ) -> None:
        """`sides` are the Avro sides, by `key` and `value`; `close` closes `clients` too."""
        self._ids = ids
        self._clients = clients
        self._waits_when_denied = waits_when_denied
        self._sides = sides
        self._registering = threading.Lock()
        self._lock = threading.Lock()
        self._last = Registration(RegistrationStatus.REGISTERED)
        self._errors: dict[str, str] = {}
        self._fatal: AccessDeniedError | None = None
        self._registered = 0

    @property
    def fatal(self) -> AccessDeniedError | None:
        """The error of a registry that denied access, if the agent does not retry it."""
        with self._lock:
            return self._fatal

    @property
    def is_used(self) -> bool:
        """Whether keys or values are Avro."""
        return bool(self._sides)

    @property
    def last(self) -> Registration:
        with self._lock:
            return self._last

    @property
    def error(self) -> str:
        """Why a requested schema has no id; empty when all have one."""
        with self._lock:
            return next(iter(self._errors.values()), "")

    @property
    def registered(self) -> int:
        """Number of schemas with an id."""
        with self._lock:
            return self._registered

    def close(self) -> None:
        """End every request that waits for an answer. Thread-safe."""
        for client in self._clients:
            client.close()

    def registration(self, schemas: Sequence[SchemaOf]) -> Registration:
        """The state of these schemas, without a request."""
        if all(self._ids.get(schema) is not None for schema in schemas):
            return Registration(RegistrationStatus.REGISTERED)
        last = self.last
        return (
            Registration(RegistrationStatus.PENDING)
            if last.status is RegistrationStatus.REGISTERED
            else last
        )

    def try_register(self, schemas: Sequence[SchemaOf]) -> bool:
        """Whether all schemas have ids after `register`."""
        return self.register(schemas).status is RegistrationStatus.REGISTERED

    def register(self, schemas: Sequence[SchemaOf]) -> Registration:
        """Request the ids of schemas one after the other, waiting for each answer."""
        with self._registering:
            return self._register(schemas)

    def _register(self, schemas: Sequence[SchemaOf]) -> Registration:
        answer, fatal = Registration(RegistrationStatus.REGISTERED), None
        for schema in schemas:
            if self._ids.get(schema) is not None:
                continue
            subjects = self._sides[schema.side]
            subject = subjects.strategy.subject(schema.topic, schema.side, schema.record)
            try:
                number = subjects.registry.schema_id(subject, schema.schema)
            except UnavailableError as error:
                answer = Registration(RegistrationStatus.UNAVAILABLE, str(error))
            except SchemaRejectedError as error:
                answer = Registration(RegistrationStatus.REJECTED, str(error))
            except AccessDeniedError as error:
                if self._waits_when_denied:
                    answer = Registration(RegistrationStatus.UNAVAILABLE, str(error))
                else:
                    answer, fatal = Registration(RegistrationStatus.REJECTED, str(error)), error
            if answer.status is not RegistrationStatus.REGISTERED:
                self._note_error(subject, answer.error)
                break
            self._ids.set(schema, number)
            logger.info("schema registered", extra=fields(subject=subject, schema_id=number))
            with self._lock:
                self._registered += 1
                self._errors.pop(subject, None)
        with self._lock:
            self._last, self._fatal = answer, fatal or self._fatal
        return answer

    def _note_error(self, subject: str, error: str) -> None:
        with self._lock:
            self._errors[subject] = error
