"""Obtains schema ids from the registries of keys and values.

A message is sent only after its schemas have ids. Encoders request ids here, on a thread that may
wait for a slow registry; any thread may read the result.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum, auto
from functools import partial
from typing import Generic, Literal, Protocol, TypeVar

from sidecar.errors import AccessDeniedError, UnavailableError
from sidecar.logs import fields
from sidecar.schema_registry.client import RegistryClient, SchemaRegistry, SchemaRejectedError
from sidecar.schema_registry.settings import RegistrySettings, Strategy

logger = logging.getLogger(__name__)

_MAX_VERIFIED = 1000
_VERIFIED_AT_ONCE = 16


Side = Literal["key", "value"]


class Unregistered(Protocol):
    """A schema without an id, with the names from which its subject may be derived."""

    @property
    def side(self) -> Side: ...
    @property
    def topic(self) -> str: ...
    @property
    def record(self) -> str:
        """Full name of the record."""

    @property
    def schema(self) -> str:
        """Avro's JSON, or Protobuf's text."""


SchemaOf = TypeVar("SchemaOf", bound=Unregistered)
SchemaOf_contra = TypeVar("SchemaOf_contra", bound=Unregistered, contravariant=True)


class SchemaIds(Protocol[SchemaOf_contra]):
    """Known ids. Thread-safe."""

    def get(self, schema: SchemaOf_contra) -> int | None: ...
    def set(self, schema: SchemaOf_contra, id: int) -> None: ...
    def forget_all(self) -> None: ...


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
class ChangedIds:
    """The registry now assigns ids that messages contain to different schemas, or to none."""

    message: str
    is_resolved: bool = False
    """All schemas that were in use have ids again."""


@dataclass(frozen=True, slots=True)
class Subjects:
    """The registry of one side (key or value), and its strategy for subject names."""

    registry: SchemaRegistry
    strategy: Strategy


def create_registrar(
    ids: SchemaIds[SchemaOf],
    registries: Callable[[], Mapping[Side, RegistrySettings]],
    *,
    waits_when_denied: bool = True,
) -> "Registrar[SchemaOf]":
    """Create a registrar for the sides with a registry; a denial calls `registries` again.

    With `waits_when_denied`, the agent retries a registry that denies access; otherwise it stops.
    Raises ConfigError.
    """
    known = registries()

    def again(side: Side) -> RegistrySettings:
        return registries()[side]

    clients = {side: RegistryClient(known[side], partial(again, side)) for side in known}
    sides: dict[str, Subjects] = {
        side: Subjects(client, known[side].strategy) for side, client in clients.items()
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
        """`sides` maps `key` and `value` to their subjects; `close` also closes `clients`."""
        self._ids = ids
        self._clients = clients
        self._waits_when_denied = waits_when_denied
        self._sides = sides
        self._registering = threading.Lock()
        self._lock = threading.Lock()
        self.last = Registration(RegistrationStatus.REGISTERED)
        self._errors: dict[str, str] = {}
        self.fatal: AccessDeniedError | None = None
        """The error of a registry that denied access, if the agent does not retry it."""
        self.registered = 0
        """Number of schemas with an id."""
        self._in_use: deque[SchemaOf] = deque(maxlen=_MAX_VERIFIED)
        self._unverifiable: set[SchemaOf] = set()
        self._verified_at = datetime.now(UTC)
        self.changed_ids: ChangedIds | None = None
        """The change that `verify` found; None while all ids are unchanged."""

    @property
    def is_used(self) -> bool:
        """Whether keys or values use a registry."""
        return bool(self._sides)

    @property
    def error(self) -> str:
        """Why a requested schema has no id; empty if all schemas have ids."""
        with self._lock:
            return next(iter(self._errors.values()), "")

    def close(self) -> None:
        """Abort every pending request. Thread-safe."""
        for client in self._clients:
            client.close()

    def registration(self, schemas: Sequence[SchemaOf]) -> Registration:
        """Return the state of these schemas, without a request."""
        if all(self._ids.get(schema) is not None for schema in schemas):
            return Registration(RegistrationStatus.REGISTERED)
        last = self.last
        return (
            Registration(RegistrationStatus.PENDING)
            if last.status is RegistrationStatus.REGISTERED
            else last
        )

    def try_register(self, schemas: Sequence[SchemaOf]) -> bool:
        """Call `register`, and return whether all schemas have ids."""
        return self.register(schemas).status is RegistrationStatus.REGISTERED

    def register(self, schemas: Sequence[SchemaOf]) -> Registration:
        """Request the ids of schemas one after the other, waiting for each answer."""
        with self._registering:
            return self._register(schemas)

    def verify(self) -> None:
        """Compare some ids in use with the registry, which may have been emptied or restored. After
        a change, forget all ids and request them again.

        Checks the schemas in rotation. Raises UnavailableError or AccessDeniedError."""
        with self._registering:
            for _ in range(min(_VERIFIED_AT_ONCE, len(self._in_use))):
                schema = self._in_use[0]
                self._in_use.rotate(-1)
                if not self._is_valid(schema):
                    self._register_again(schema)
                    break
            self._verified_at = datetime.now(UTC)

    def _is_valid(self, schema: SchemaOf) -> bool:
        number, registry = self._ids.get(schema), self._sides[schema.side].registry
        if number is None or schema in self._unverifiable:
            return True
        if registry.has_schema(number, schema.schema):
            return True
        try:
            is_same = registry.schema_id(self._subject(schema), schema.schema) == number
        except SchemaRejectedError:
            return False
        if is_same and not registry.has_schema(number, schema.schema):
            # The registry does not support this request, or stores a different text.
            self._unverifiable.add(schema)
            return True
        return False

    def _register_again(self, schema: SchemaOf) -> None:
        number, schemas = self._ids.get(schema), list(self._in_use)
        message = (
            f"The schema registry has no schema or a different one for the id {number} of "
            f"{self._subject(schema)}. Events since {self._verified_at:%Y-%m-%d %H:%M:%S} UTC have "
            "ids that readers cannot resolve or resolve to different schemas."
        )
        logger.error("the ids of schemas have changed", extra=fields(reason=message))
        self._ids.forget_all()
        self._in_use.clear()
        with self._lock:
            self.changed_ids, self.registered = ChangedIds(message), 0
        self._register(schemas)

    def _subject(self, schema: SchemaOf) -> str:
        strategy = self._sides[schema.side].strategy
        return strategy.subject(schema.topic, schema.side, schema.record)

    def _register(self, schemas: Sequence[SchemaOf]) -> Registration:
        answer, fatal = Registration(RegistrationStatus.REGISTERED), None
        for schema in schemas:
            if self._ids.get(schema) is not None:
                continue
            subject = self._subject(schema)
            try:
                number = self._sides[schema.side].registry.schema_id(subject, schema.schema)
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
                with self._lock:
                    self._errors[subject] = answer.error
                break
            self._ids.set(schema, number)
            self._in_use.append(schema)
            logger.info("schema registered", extra=fields(subject=subject, schema_id=number))
            with self._lock:
                self.registered += 1
                self._errors.pop(subject, None)
        with self._lock:
            self.last, self.fatal = answer, fatal or self.fatal
            if self.changed_ids is not None and not self._errors:
                self.changed_ids = replace(self.changed_ids, is_resolved=True)
        return answer
