"""Ids for the schemas of topics, where keys or values are Avro.

A stream waits for them on its own thread (`wait`). Copies and heartbeats, which others would wait
for, go on without (`SchemaRequests`) and come when the ids are there.

    the registry is away        waited for without end
    refuses a schema            waited for so long as the operator says; then what has it is
                                refused, event by event, until the registry takes it; begin and end
                                of transactions wait without end
    refuses us                  the agent ends
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, Protocol

from sidecar.logs import fields
from sidecar.schema_registry.registrar import (
    Registrar,
    Registration,
    RegistrationStatus,
    SchemaOf,
    SchemaOf_contra,
)

logger = logging.getLogger(__name__)

_PAUSE_S = 1.0
_RECONSIDERED_S = 60.0


class AbandonedSchemas(Protocol[SchemaOf_contra]):
    """The ids that are known, and the schemas that get none."""

    def give_up(self, schema: SchemaOf_contra, /) -> None:
        """Events of this schema become dead letters until it has an id."""


class SchemaRegistration(Generic[SchemaOf]):
    """Shared by all streams."""

    def __init__(
        self,
        ids: AbandonedSchemas[SchemaOf],
        registrar: Registrar[SchemaOf],
        hold_max_s: float,
        *,
        never_given_up: str | None = None,
        clock: Callable[[], float] = time.monotonic,
        pause_s: float = _PAUSE_S,
    ) -> None:
        """`hold_max_s` is how long a schema that is refused is waited for; those of the topic
        `never_given_up` are waited for without end; `clock` gives seconds."""
        self._ids = ids
        self._registrar = registrar
        self._hold_max_s = hold_max_s
        self._never_given_up = never_given_up
        self._clock = clock
        self._pause_s = pause_s
        self._lock = threading.Lock()
        self._given_up: list[SchemaOf] = []
        self._reconsider_at_s = 0.0

    def wait(self, schemas: Sequence[SchemaOf], closed: threading.Event) -> bool:
        """Until each has an id or is given up; False when it was closed before. Raises RefusedError
        when the registry refuses us.

        All are held at once, so that many cost no more than one. Time in which the registry is away
        does not count."""
        lacking = list(dict.fromkeys(schemas))
        refused_at_s: dict[SchemaOf, float] = {}
        asked_at_s = self._clock()
        while not closed.is_set():
            answers = self._ask_all(lacking, closed)
            before_s, asked_at_s = asked_at_s, self._clock()
            if _is_away(answers):
                for schema in refused_at_s:
                    refused_at_s[schema] += asked_at_s - before_s
            for schema, answer in answers.items():
                if answer.status is RegistrationStatus.REGISTERED:
                    lacking.remove(schema)
                elif answer.status is RegistrationStatus.REJECTED:
                    held_s = asked_at_s - refused_at_s.setdefault(schema, asked_at_s)
                    if held_s >= self._hold_max_s and schema.topic != self._never_given_up:
                        self._give_up(schema, answer.error)
                        lacking.remove(schema)
            if not lacking:
                return True
            closed.wait(self._pause_s)
        return False

    def reconsider(self, closed: threading.Event) -> None:
        """Asks again, from time to time, for what was given up."""
        with self._lock:
            if not self._given_up or self._clock() < self._reconsider_at_s:
                return
            # Others have nothing to ask for meanwhile.
            given_up, self._given_up = self._given_up, []
        answers = self._ask_all(given_up, closed)
        # Those that were not asked come first the next time.
        still = [schema for schema in given_up if schema not in answers]
        still += [
            each for each in answers if answers[each].status is not RegistrationStatus.REGISTERED
        ]
        with self._lock:
            self._given_up = list(dict.fromkeys(still + self._given_up))
            self._reconsider_at_s = self._clock() + _RECONSIDERED_S

    def _ask_all(
        self, schemas: Sequence[SchemaOf], closed: threading.Event
    ) -> dict[SchemaOf, Registration]:
        """The answers up to the first one that does not come: each of the others would be waited
        for as long."""
        answers: dict[SchemaOf, Registration] = {}
        for schema in schemas:
            if closed.is_set():
                break
            answers[schema] = answer = self._ask(schema)
            if answer.status is RegistrationStatus.UNAVAILABLE:
                break
        return answers

    def _ask(self, schema: SchemaOf) -> Registration:
        answer = self._registrar.register([schema])
        if (fatal := self._registrar.fatal) is not None:
            raise fatal
        return answer

    def _give_up(self, schema: SchemaOf, sentence: str) -> None:
        self._ids.give_up(schema)
        with self._lock:
            if schema not in self._given_up:
                self._given_up.append(schema)
            self._reconsider_at_s = self._clock() + _RECONSIDERED_S
        logger.error(
            "what has a schema that is refused goes to the quarantine",
            extra=fields(topic=schema.topic, side=schema.side, reason=sentence),
        )


def _is_away(answers: Mapping[SchemaOf, Registration]) -> bool:
    """Whether nothing was answered. Where something was, it is one schema's trouble, or too many
    questions."""
    return all(answer.status is RegistrationStatus.UNAVAILABLE for answer in answers.values())


class SchemaRequests(Generic[SchemaOf]):
    """For one thread, which never waits; another one asks. `close` it."""

    def __init__(
        self,
        registrar: Registrar[SchemaOf],
        *,
        clock: Callable[[], float] = time.monotonic,
        pause_s: float = _PAUSE_S,
    ) -> None:
        """`clock` gives seconds."""
        self._registrar = registrar
        self._clock = clock
        self._pause_s = pause_s
        self._asked: dict[SchemaOf, Future[Registration]] = {}
        self._again_at_s: dict[SchemaOf, float] = {}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="schemas")

    def ask(self, schemas: Sequence[SchemaOf], wake: Callable[[], None]) -> None:
        """Has those asked for that nobody asks for at present. `wake` is called behind an answer.
        Raises RefusedError when the registry refuses us."""
        for schema in schemas:
            asked = self._asked.get(schema)
            if asked is not None and asked.done():
                del self._asked[schema]
                self._again_at_s[schema] = self._clock() + self._pause_s
            elif asked is None and self._clock() >= self._again_at_s.get(schema, 0.0):
                self._again_at_s.pop(schema, None)
                asking = self._thread.submit(self._registrar.register, [schema])
                asking.add_done_callback(lambda _: wake())
                self._asked[schema] = asking
        if (fatal := self._registrar.fatal) is not None:
            raise fatal

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)
