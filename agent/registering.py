"""Ids for the schemas of tables, from the registries of keys and values.

A read stops in front of an event whose schemas have no id. The reader's worker asks for them here,
so a registry that is slow keeps nothing else up; the pipeline looks at what became of it.
"""

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Literal

from commitlog import SchemaIds, Unregistered
from sidecar.errors import RefusedError, UnavailableError
from sidecar.logs import fields
from sidecar.schema_registry import (
    RefusedSchemaError,
    RegistryClient,
    RegistrySettings,
    SchemaRegistry,
    Strategy,
)

logger = logging.getLogger(__name__)


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
    ids: SchemaIds, registries: Mapping[Literal["key", "value"], RegistrySettings]
) -> "Registrar":
    """By the settings of the sides that are Avro. Raises ConfigError."""
    sides: dict[str, Subjects] = {
        side: Subjects(RegistryClient(settings), settings.strategy)
        for side, settings in registries.items()
    }
    return Registrar(ids, sides)


class Registrar:
    """The reader's worker and that of snapshots ask, in turn; any thread may look."""

    def __init__(self, ids: SchemaIds, sides: Mapping[str, Subjects]) -> None:
        """`sides` are the ones that are Avro, by `key` and `value`."""
        self._ids = ids
        self._sides = sides
        self._asking = threading.Lock()
        self._lock = threading.Lock()
        self._answer = Answer(Outcome.GIVEN)
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
    def registered(self) -> int:
        """Schemas that have got an id."""
        with self._lock:
            return self._registered

    def answer(self, schemas: Sequence[Unregistered]) -> Answer:
        """What became of the question for these."""
        if all(self._ids.get(schema) is not None for schema in schemas):
            return Answer(Outcome.GIVEN)
        last = self.last
        return Answer(Outcome.ASKED_FOR) if last.outcome is Outcome.GIVEN else last

    def register(self, schemas: Sequence[Unregistered]) -> bool:
        """Asks for the ids of schemas, one after the other; waits for each answer. True: all have
        one."""
        with self._asking:
            return self._register(schemas)

    def _register(self, schemas: Sequence[Unregistered]) -> bool:
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
                break
            except RefusedSchemaError as error:
                answer = Answer(Outcome.REFUSED, str(error))
                break
            except RefusedError as error:
                answer, fatal = Answer(Outcome.REFUSED, str(error)), error
                break
            self._ids.set(schema, number)
            logger.info("a schema has an id", extra=fields(subject=subject, schema_id=number))
            with self._lock:
                self._registered += 1
        with self._lock:
            self._answer, self._fatal = answer, fatal
        return answer.outcome is Outcome.GIVEN
