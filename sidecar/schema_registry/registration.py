"""Waits for the ids of schemas.

A stream waits on its own thread (`SchemaRegistration.wait`). Snapshots and heartbeats do not wait
(`SchemaRequests`): they are sent once their schemas have ids.

    the registry does not answer   the agent waits indefinitely
    it rejects a schema            the agent waits for the blocked timeout. Then events of the
                                   schema become dead letters until the registry accepts it;
                                   transaction metadata waits indefinitely
    it denies access               the agent waits or stops, as in `access.denied.action`
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from sidecar.encoding import SchemaIds, Unregistered
from sidecar.logs import fields
from sidecar.schema_registry.registrar import Registrar, Registration, RegistrationStatus

logger = logging.getLogger(__name__)

_PAUSE_S = 1.0
_RECONSIDERED_S = 60.0


class SchemaRegistration:
    def __init__(
        self,
        ids: SchemaIds,
        registrar: Registrar,
        blocked_timeout_s: float,
        *,
        never_abandoned: str | None = None,
        clock: Callable[[], float] = time.monotonic,
        pause_s: float = _PAUSE_S,
    ) -> None:
        """`blocked_timeout_s` is the longest wait for a rejected schema; schemas of the topic
        `never_abandoned` wait indefinitely; `clock` returns seconds."""
        self._ids = ids
        self._registrar = registrar
        self._blocked_timeout_s = blocked_timeout_s
        self._never_abandoned = never_abandoned
        self._clock = clock
        self._pause_s = pause_s
        self._lock = threading.Lock()
        self._abandoned: list[Unregistered] = []
        self._reconsider_at_s = 0.0

    def wait(self, schemas: Sequence[Unregistered], closed: threading.Event) -> bool:
        """Waits until each schema has an id or is abandoned. Returns False if closed first. Raises
        AccessDeniedError if the registry denies access.

        All schemas wait concurrently, so many take no longer than one. Time during which the
        registry does not answer does not count."""
        lacking = list(dict.fromkeys(schemas))
        rejected_at_s: dict[Unregistered, float] = {}
        asked_at_s = self._clock()
        while not closed.is_set():
            answers = self._ask_all(lacking, closed)
            before_s, asked_at_s = asked_at_s, self._clock()
            # Otherwise one schema fails, or there are too many requests.
            if all(each.status is RegistrationStatus.UNAVAILABLE for each in answers.values()):
                for schema in rejected_at_s:
                    rejected_at_s[schema] += asked_at_s - before_s
            for schema, answer in answers.items():
                if answer.status is RegistrationStatus.REGISTERED:
                    lacking.remove(schema)
                elif answer.status is RegistrationStatus.REJECTED:
                    waited_s = asked_at_s - rejected_at_s.setdefault(schema, asked_at_s)
                    if (
                        waited_s >= self._blocked_timeout_s
                        and schema.topic != self._never_abandoned
                    ):
                        self._abandon(schema, answer.error)
                        lacking.remove(schema)
            if not lacking:
                return True
            closed.wait(self._pause_s)
        return False

    def reconsider(self, closed: threading.Event) -> None:
        """Requests abandoned schemas again, at most once a minute."""
        with self._lock:
            if not self._abandoned or self._clock() < self._reconsider_at_s:
                return
            # Other streams must not request them at the same time.
            abandoned, self._abandoned = self._abandoned, []
        answers = self._ask_all(abandoned, closed)
        # Schemas without a request come first the next time.
        still = [schema for schema in abandoned if schema not in answers]
        still += [
            each for each in answers if answers[each].status is not RegistrationStatus.REGISTERED
        ]
        with self._lock:
            self._abandoned = list(dict.fromkeys(still + self._abandoned))
            self._reconsider_at_s = self._clock() + _RECONSIDERED_S

    def _ask_all(
        self, schemas: Sequence[Unregistered], closed: threading.Event
    ) -> dict[Unregistered, Registration]:
        """Requests ids until the first timeout, because each further request would take as long."""
        answers: dict[Unregistered, Registration] = {}
        for schema in schemas:
            if closed.is_set():
                break
            answers[schema] = answer = self._ask(schema)
            if answer.status is RegistrationStatus.UNAVAILABLE:
                break
        return answers

    def _ask(self, schema: Unregistered) -> Registration:
        answer = self._registrar.register([schema])
        if (fatal := self._registrar.fatal) is not None:
            raise fatal
        return answer

    def _abandon(self, schema: Unregistered, reason: str) -> None:
        self._ids.abandon(schema)
        with self._lock:
            if schema not in self._abandoned:
                self._abandoned.append(schema)
            self._reconsider_at_s = self._clock() + _RECONSIDERED_S
        logger.error(
            "events of a rejected schema become dead letters",
            extra=fields(topic=schema.topic, side=schema.side, reason=reason),
        )


class SchemaRequests:
    """Requests ids on a separate thread, for a thread that must not wait. Requires `close`."""

    def __init__(self, registrar: Registrar) -> None:
        self._registrar = registrar
        self._asked: dict[Unregistered, Future[Registration]] = {}
        self._again_at_s: dict[Unregistered, float] = {}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="schemas")

    def ask(self, schemas: Sequence[Unregistered], wake: Callable[[], None]) -> None:
        """Requests ids that are not requested yet, and calls `wake` after each answer. Raises
        AccessDeniedError if the registry denies access."""
        for schema in schemas:
            asked = self._asked.get(schema)
            if asked is not None and asked.done():
                del self._asked[schema]
                self._again_at_s[schema] = time.monotonic() + _PAUSE_S
            elif asked is None and time.monotonic() >= self._again_at_s.get(schema, 0.0):
                self._again_at_s.pop(schema, None)
                asking = self._thread.submit(self._registrar.register, [schema])
                asking.add_done_callback(lambda _: wake())
                self._asked[schema] = asking
        if (fatal := self._registrar.fatal) is not None:
            raise fatal

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)
