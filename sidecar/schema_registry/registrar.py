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
from typing import Literal

from sidecar.encoding import SchemaIds, Unregistered
from sidecar.errors import AccessDeniedError, UnavailableError
from sidecar.logs import fields
from sidecar.schema_registry.client import RegistryClient, SchemaRejectedError
from sidecar.schema_registry.settings import RegistrySettings, Strategy

logger = logging.getLogger(__name__)

_MAX_VERIFIED = 1000
_VERIFIED_AT_ONCE = 16


Side = Literal["key", "value"]


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

    registry: RegistryClient
    strategy: Strategy


def create_registrar(
    ids: SchemaIds,
    registries: Callable[[], Mapping[Side, RegistrySettings]],
    *,
    waits_when_denied: bool = True,
) -> "Registrar":
    """Create a registrar for the sides with a registry; a denial calls `registries` again.

    With `waits_when_denied`, the agent retries a registry that denies access; otherwise it stops.
    Raises ConfigError.
    """
    known = registries()

    def again(side: Side) -> RegistrySettings:
        return registries()[side]

    sides: dict[str, Subjects] = {
        side: Subjects(RegistryClient(settings, partial(again, side)), settings.strategy)
        for side, settings in known.items()
    }
    return Registrar(ids, sides, waits_when_denied=waits_when_denied)


class Registrar:
    """Registers schemas, one request at a time; any thread may read the state."""

    def __init__(
        self,
        ids: SchemaIds,
        sides: Mapping[str, Subjects],
        *,
        waits_when_denied: bool = False,
    ) -> None:
        """`sides` maps `key` and `value` to their subjects; `close` closes their registries."""
        self._ids = ids
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
        self._in_use: deque[Unregistered] = deque(maxlen=_MAX_VERIFIED)
        self._unverifiable: set[Unregistered] = set()
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
        for subjects in self._sides.values():
            subjects.registry.close()

    def registration(self, schemas: Sequence[Unregistered]) -> Registration:
        """Return the state of these schemas, without a request."""
        if all(self._ids.get(schema) is not None for schema in schemas):
            return Registration(RegistrationStatus.REGISTERED)
        last = self.last
        return (
            Registration(RegistrationStatus.PENDING)
            if last.status is RegistrationStatus.REGISTERED
            else last
        )

    def try_register(self, schemas: Sequence[Unregistered]) -> bool:
        """Call `register`, and return whether all schemas have ids."""
        return self.register(schemas).status is RegistrationStatus.REGISTERED

    def register(self, schemas: Sequence[Unregistered]) -> Registration:
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

    def _is_valid(self, schema: Unregistered) -> bool:
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

    def _register_again(self, schema: Unregistered) -> None:
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

    def _subject(self, schema: Unregistered) -> str:
        strategy = self._sides[schema.side].strategy
        return strategy.subject(schema.topic, schema.side, schema.record)

    def _register(self, schemas: Sequence[Unregistered]) -> Registration:
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
