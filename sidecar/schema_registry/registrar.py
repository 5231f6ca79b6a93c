"""Ids for the schemas of messages, from the registries of keys and values.

Nothing is sent in front of its schemas. Who makes messages asks for them here, on a thread that may
wait for a registry that is slow; anybody may look at what became of it.
"""

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Generic, Literal, Protocol, TypeVar

from sidecar.errors import RefusedError, UnavailableError
from sidecar.logs import fields
from sidecar.schema_registry.client import RefusedSchemaError, RegistryClient, SchemaRegistry
from sidecar.schema_registry.settings import RegistrySettings, Strategy

logger = logging.getLogger(__name__)


class Unregistered(Protocol):
    """A schema, and what its subject may be named after."""

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
    """The ids that are known. Any thread may use it."""

    def get(self, schema: SchemaOf_contra) -> int | None: ...
    def set(self, schema: SchemaOf_contra, id: int) -> None: ...


class Outcome(Enum):
    """What became of a question."""

    ASKED_FOR = auto()
    """Nobody has answered yet."""
    GIVEN = auto()
    """All have ids."""
    AWAY = auto()
    """The registry does not answer, or not in time."""
    REFUSED = auto()
    """The registry does not take a schema."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome, and a sentence for people."""

    outcome: Outcome
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Subjects:
    """One side of messages: its registry, and how subjects are named there."""

    registry: SchemaRegistry
    strategy: Strategy


def create_registrar(
    ids: SchemaIds[SchemaOf],
    registries: Mapping[Literal["key", "value"], RegistrySettings],
    *,
    waits_when_refused: bool = True,
) -> "Registrar[SchemaOf]":
    """By the settings of the sides that are Avro. A registry that refuses the agent is asked again
    with `waits_when_refused`, and ends it without. Raises ConfigError."""
    clients = {side: RegistryClient(settings) for side, settings in registries.items()}
    sides: dict[str, Subjects] = {
        side: Subjects(client, registries[side].strategy) for side, client in clients.items()
    }
    return Registrar(
        ids, sides, clients=tuple(clients.values()), waits_when_refused=waits_when_refused
    )


class Registrar(Generic[SchemaOf]):
    """Those who make messages ask, in turn; any thread may look."""

    def __init__(
        self,
        ids: SchemaIds[SchemaOf],
        sides: Mapping[str, Subjects],
        *,
        clients: Sequence[RegistryClient] = (),
        waits_when_refused: bool = False,
    ) -> None:
        """`sides` are the ones that are Avro, by `key` and `value`; `clients` end with this."""
        self._ids = ids
        self._clients = clients
        self._waits_when_refused = waits_when_refused
        self._sides = sides
        self._asking = threading.Lock()
        self._lock = threading.Lock()
        self._answer = Answer(Outcome.GIVEN)
        self._troubles: dict[str, str] = {}
        self._fatal: RefusedError | None = None
        self._registered = 0

    @property
    def fatal(self) -> RefusedError | None:
        """Why no registry will ever answer us, if one refused us."""
        with self._lock:
            return self._fatal

    @property
    def is_used(self) -> bool:
        """False where nothing is Avro."""
        return bool(self._sides)

    @property
    def last(self) -> Answer:
        """What became of the last question."""
        with self._lock:
            return self._answer

    @property
    def trouble(self) -> str:
        """Why a schema has no id that was asked for; empty when all have one."""
        with self._lock:
            return next(iter(self._troubles.values()), "")

    @property
    def registered(self) -> int:
        """Schemas that have got an id."""
        with self._lock:
            return self._registered

    def close(self) -> None:
        """Nobody waits for an answer from now on. Any thread may call it."""
        for client in self._clients:
            client.close()

    def answer(self, schemas: Sequence[SchemaOf]) -> Answer:
        """What became of the question for these."""
        if all(self._ids.get(schema) is not None for schema in schemas):
            return Answer(Outcome.GIVEN)
        last = self.last
        return Answer(Outcome.ASKED_FOR) if last.outcome is Outcome.GIVEN else last

    def register(self, schemas: Sequence[SchemaOf]) -> bool:
        """Asks for the ids of schemas, one after the other; waits for each answer. True: all have
        one."""
        return self.ask(schemas).outcome is Outcome.GIVEN

    def ask(self, schemas: Sequence[SchemaOf]) -> Answer:
        """The same, with the reason."""
        with self._asking:
            return self._ask(schemas)

    def _ask(self, schemas: Sequence[SchemaOf]) -> Answer:
        answer, fatal = Answer(Outcome.GIVEN), None
        for schema in schemas:
            if self._ids.get(schema) is not None:
                continue
            subjects = self._sides[schema.side]
            subject = subjects.strategy.subject(schema.topic, schema.side, schema.record)
            try:
                number = subjects.registry.schema_id(subject, schema.schema)
            except UnavailableError as error:
                answer = Answer(Outcome.AWAY, str(error))
            except RefusedSchemaError as error:
                answer = Answer(Outcome.REFUSED, str(error))
            except RefusedError as error:
                if self._waits_when_refused:
                    answer = Answer(Outcome.AWAY, str(error))
                else:
                    answer, fatal = Answer(Outcome.REFUSED, str(error)), error
            if answer.outcome is not Outcome.GIVEN:
                self._note_trouble(subject, answer.sentence)
                break
            self._ids.set(schema, number)
            logger.info("a schema has an id", extra=fields(subject=subject, schema_id=number))
            with self._lock:
                self._registered += 1
                self._troubles.pop(subject, None)
        with self._lock:
            self._answer, self._fatal = answer, fatal or self._fatal
        return answer

    def _note_trouble(self, subject: str, sentence: str) -> None:
        with self._lock:
            self._troubles[subject] = sentence
