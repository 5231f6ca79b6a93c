"""Begins, commits and aborts transactions of a producer without blocking.

    JOINING ──► READY ──► OPEN ──► COMMITTING ──► READY
                            └────► ABORTING ────► READY

Each call that waits for the broker runs in a separate thread, with the client's own timeout, as
librdkafka requires (a different timeout may lose its state). Until it returns, do not produce.
"""

import time
from collections.abc import Callable
from concurrent.futures import TimeoutError as NotYet
from enum import Enum
from functools import partial
from typing import NoReturn

from confluent_kafka import KafkaError, KafkaException, Producer

from sidecar.process.lifecycle import call_in_thread
from sidecar.sinks.kafka.client import kafka_error
from sidecar.sinks.kafka.transactions.errors import Recovery, final_error, remedy

_OWN_TIMEOUT = -1.0


class Phase(Enum):
    JOINING = "joining"
    """Fences the previous owner of the transactional id."""
    READY = "ready"
    OPEN = "open"
    COMMITTING = "committing"
    ABORTING = "aborting"


class CallResult(Enum):
    JOINED = "joined"
    COMMITTED = "committed"
    ABORTED = "aborted"
    FAILED = "failed"
    """A commit failed: the transaction is still open and can only be aborted."""


class TransactionalProducer:
    """Used by one thread; the client's callbacks may run on a different thread."""

    def __init__(
        self,
        producer: Producer,
        transactional_id: str,
        timeout_s: float,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start to join. `timeout_s` is `transaction.timeout.ms`; `clock` returns seconds."""
        self._producer = producer
        self._id = transactional_id
        self._timeout_s = timeout_s
        self._clock = clock
        self.phase = Phase.JOINING
        self._begun_at_s: float | None = None
        self.failure: KafkaError | None = None
        """The error of the latest failed commit."""
        self._start(Phase.JOINING)

    @property
    def is_waiting(self) -> bool:
        return self.phase not in (Phase.READY, Phase.OPEN)

    @property
    def open_for_s(self) -> float:
        """The age of the open transaction; 0 if none is open."""
        return 0.0 if self._begun_at_s is None else self._clock() - self._begun_at_s

    def begin(self) -> None:
        """Begin a transaction. Raises `final_error`."""
        assert self.phase is Phase.READY
        try:
            self._producer.begin_transaction()
        except KafkaException as raised:
            self._raise(raised.args[0])
        self.phase = Phase.OPEN
        self._begun_at_s = self._clock()

    def commit(self) -> None:
        assert self.phase is Phase.OPEN
        self._start(Phase.COMMITTING)

    def abort(self) -> None:
        assert self.phase is Phase.OPEN
        self._start(Phase.ABORTING)

    def wait(self, timeout_s: float) -> CallResult | None:
        """Return the result of the pending call, or None while it runs. Raises `final_error` for an
        unrecoverable error."""
        try:
            raised = self._call.exception(timeout_s)
        except NotYet:
            return None
        if raised is None:
            ended = _SUCCESS[self.phase]
            self.phase = Phase.READY
            self._begun_at_s = None
            return ended
        error = kafka_error(raised)
        match remedy(error):
            case Recovery.AGAIN:
                self._start(self.phase)
                return None
            case Recovery.ABORT if self.phase is Phase.COMMITTING:
                self.phase = Phase.OPEN
                self.failure = error
                return CallResult.FAILED
        self._raise(error)

    def _start(self, phase: Phase) -> None:
        self.phase = phase
        producer = self._producer
        function = {
            Phase.JOINING: producer.init_transactions,
            Phase.COMMITTING: producer.commit_transaction,
            Phase.ABORTING: producer.abort_transaction,
        }[phase]
        self._call = call_in_thread(f"kafka-{phase.value}", partial(function, _OWN_TIMEOUT))

    def _raise(self, error: KafkaError) -> NoReturn:
        raise final_error(error, self._id, self.open_for_s, self._timeout_s)


_SUCCESS = {
    Phase.JOINING: CallResult.JOINED,
    Phase.COMMITTING: CallResult.COMMITTED,
    Phase.ABORTING: CallResult.ABORTED,
}
