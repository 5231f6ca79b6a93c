"""Ids for the schemas of topics, where keys or values are Avro.

A stream waits for them on its own thread (`wait`). Copies and heartbeats, which others would wait
for, go on without (`Asking`) and come when the ids are there.

    the registry is away        waited for without end
    refuses a schema            waited for so long as the operator says; then what has it is
                                refused, event by event, until the registry takes it
    refuses us                  the agent ends
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

from commitlog import SchemaIds, Unregistered
from sidecar.logs import fields
from sidecar.schema_registry import (
    Answer,
    Outcome,
    Registrar,
    RegistrySettings,
    create_registrar,
)

logger = logging.getLogger(__name__)

_PAUSE_S = 1.0
_RECONSIDERED_S = 60.0


class Registering:
    """Shared by all streams."""

    def __init__(
        self,
        ids: SchemaIds,
        registrar: Registrar[Unregistered],
        hold_max_s: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        pause_s: float = _PAUSE_S,
    ) -> None:
        """`hold_max_s` is how long a schema that is refused is waited for; `clock` gives
        seconds."""
        self._ids = ids
        self._registrar = registrar
        self._hold_max_s = hold_max_s
        self._clock = clock
        self._pause_s = pause_s
        self._lock = threading.Lock()
        self._given_up: list[Unregistered] = []
        self._reconsider_at_s = 0.0

    def wait(self, schemas: Sequence[Unregistered], closed: threading.Event) -> bool:
        """Until each has an id or is given up; False when it was closed before. Raises RefusedError
        when the registry refuses us."""
        return all(self._wait(schema, closed) for schema in schemas)

    def reconsider(self) -> None:
        """Asks again, from time to time, for what was given up."""
        with self._lock:
            if not self._given_up or self._clock() < self._reconsider_at_s:
                return
            self._reconsider_at_s = self._clock() + _RECONSIDERED_S
            given_up, self._given_up = self._given_up, []
        still = [schema for schema in given_up if self._ask(schema).outcome is not Outcome.GIVEN]
        with self._lock:
            self._given_up += still

    def _wait(self, schema: Unregistered, closed: threading.Event) -> bool:
        refused_at_s: float | None = None
        while (answer := self._ask(schema)).outcome is not Outcome.GIVEN:
            now_s = self._clock()
            if answer.outcome is Outcome.AWAY:
                refused_at_s = None
            elif refused_at_s is None:
                refused_at_s = now_s
            if refused_at_s is not None and now_s - refused_at_s >= self._hold_max_s:
                self._give_up(schema, answer.sentence)
                return True
            if closed.wait(self._pause_s):
                return False
        return True

    def _ask(self, schema: Unregistered) -> Answer:
        answer = self._registrar.ask([schema])
        if (fatal := self._registrar.fatal) is not None:
            raise fatal
        return answer

    def _give_up(self, schema: Unregistered, sentence: str) -> None:
        self._ids.give_up(schema)
        with self._lock:
            if schema not in self._given_up:
                self._given_up.append(schema)
            self._reconsider_at_s = self._clock() + _RECONSIDERED_S
        logger.error(
            "what has a schema that is refused goes to the quarantine",
            extra=fields(topic=schema.topic, side=schema.side, reason=sentence),
        )


class Asking:
    """For one thread, which never waits; another one asks. `close` it."""

    def __init__(
        self,
        registrar: Registrar[Unregistered],
        *,
        clock: Callable[[], float] = time.monotonic,
        pause_s: float = _PAUSE_S,
    ) -> None:
        """`clock` gives seconds."""
        self._registrar = registrar
        self._clock = clock
        self._pause_s = pause_s
        self._asked: dict[Unregistered, Future[Answer]] = {}
        self._again_at_s: dict[Unregistered, float] = {}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="schemas")

    def ask(self, schemas: Sequence[Unregistered], wake: Callable[[], None]) -> None:
        """Has those asked for that nobody asks for at present. `wake` is called behind an answer.
        Raises RefusedError when the registry refuses us."""
        for schema in schemas:
            asked = self._asked.get(schema)
            if asked is not None and asked.done():
                del self._asked[schema]
                self._again_at_s[schema] = self._clock() + self._pause_s
            elif asked is None and self._clock() >= self._again_at_s.get(schema, 0.0):
                self._again_at_s.pop(schema, None)
                asking = self._thread.submit(self._registrar.ask, [schema])
                asking.add_done_callback(lambda _: wake())
                self._asked[schema] = asking
        if (fatal := self._registrar.fatal) is not None:
            raise fatal

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True, slots=True)
class Schemas:
    """The ids of schemas, and who gets them."""

    ids: SchemaIds
    registrar: Registrar[Unregistered]
    registering: Registering
    asking: Asking


def create_schemas(
    registries: Mapping[Literal["key", "value"], RegistrySettings], hold_max_ms: int
) -> Schemas:
    """By the settings of the sides that are Avro. Raises ConfigError."""
    ids = SchemaIds()
    registrar = create_registrar(ids, registries)
    registering = Registering(ids, registrar, hold_max_ms / 1000)
    return Schemas(ids, registrar, registering, Asking(registrar))
