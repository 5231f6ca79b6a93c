"""The Kafka sink that stores the position with the events: exactly once.

    begin │ events … events │ one record in position.topic │ commit ► events are acknowledged

A transaction ends at a commit point (`contents`), when it is due (`CommitRule`). The sink keeps its
events until the commit. An event that Kafka rejects aborts its transaction: the event is reported
as failed, and once it is a dead letter (`dead_letter`), the other events are sent again in a new
transaction. After any other error, the pipeline resends from the stored position (`load`).
"""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from sidecar.errors import SidecarError, SinkRestartError, UnavailableError
from sidecar.events import NumberedBatch
from sidecar.logs import fields
from sidecar.offsets.position_store import (
    PositionRecords,
    Positions,
    SinkPositions,
    all_values,
    position_bytes,
)
from sidecar.offsets.properties_store import StoredOffsets
from sidecar.quantities import duration_text
from sidecar.sinks.base import DEAD_LETTERS_WAITING, DeliveryResult, SinkState
from sidecar.sinks.kafka.batch_size import BatchSize
from sidecar.sinks.kafka.client import ClientOptions, KafkaClient
from sidecar.sinks.kafka.delivery_errors import reason
from sidecar.sinks.kafka.in_flight import BatchSlice, SentEvents
from sidecar.sinks.kafka.transactions.contents import (
    CommitRule,
    SourcePositions,
    TransactionContents,
    last_commit_point,
    next_commit_point,
)
from sidecar.sinks.kafka.transactions.errors import final_error
from sidecar.sinks.kafka.transactions.failures import TransactionFailures
from sidecar.sinks.kafka.transactions.position_topic import POSITION_PARTITION, load_positions
from sidecar.sinks.kafka.transactions.producer import CallResult, Phase, TransactionalProducer

logger = logging.getLogger(__name__)

# As in the plain sink, up to the next commit point.
_CHUNK_EVENTS = 250
_AGAIN_S = 0.1
_STEP_S = 0.1
_LOAD_S = 10.0
_LONG_JOIN_S = 15.0
_DEFAULT_TIMEOUT_MS = "60000"
_TIMEOUT = "transaction.timeout.ms"


class TransactionalKafkaSink(SinkPositions):
    """Publishes to Kafka in transactions. Waits for an unavailable broker; `state` reports it.

    After each `open`, `load` must be called before `send`.
    """

    def __init__(
        self,
        options: ClientOptions,
        records: PositionRecords,
        rule: CommitRule,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`clock` returns seconds."""
        self.client = KafkaClient(options, self._fatal_error, clock)
        self._records = records
        self.commit_rule = rule
        self._clock = clock
        self._batch_size = BatchSize(self.client.config, clock=clock)
        self._timeout_ms = self.client.config.get(_TIMEOUT, _DEFAULT_TIMEOUT_MS)
        self.transactions: TransactionalProducer | None = None
        self._reset()

    def _reset(self) -> None:
        self._contents = TransactionContents()
        self._failures = TransactionFailures(
            self.client,
            self._batch_size,
            self._records.topic,
            self._contents.exclude,
            self._clock,
        )
        self._acknowledged: list[range] = []
        self._is_flushing = False
        self._positions = SourcePositions(self._records)
        self._is_at_commit_point = True
        self._opened_at_s = self._stored_at_s = self._clock()
        self._is_loaded = False
        self._is_closing = False

    def open(self) -> None:
        """Connect, waiting up to five seconds for a broker, unless `load` has already connected.

        Raises ConfigError for settings that the client rejects, AccessDeniedError if the broker
        rejects the login.
        """
        if self.transactions is not None:
            return
        self._reset()
        self._join()
        self.client.wait_for_broker()

    def _join(self) -> None:
        """Create a producer. It fences the previous owner of the transactional id, another instance
        or an earlier producer, and aborts its open transaction."""
        producer = self.client.open(
            {
                **self._batch_size.settings(),
                "transactional.id": self._records.transactional_id,
                _TIMEOUT: self._timeout_ms,
            }
        )
        self.transactions = TransactionalProducer(
            producer,
            self._records.transactional_id,
            int(self._timeout_ms) / 1000,
            clock=self._clock,
        )

    def load(self) -> StoredOffsets:
        """Return the stored position after the latest transaction with this transactional id.

        Raises UnavailableError if no broker answers within ten seconds, LockedError,
        ConfigError, AccessDeniedError, OffsetStoreError. Opens a closed sink.
        """
        if self.transactions is None:
            self.open()
        until_s = self._clock() + _LOAD_S
        while self._transactional.phase is Phase.JOINING:
            self._tick(_STEP_S)
            self.client.probe_if_due()
            if self._clock() >= until_s:
                state = self.client.state()
                joining = (
                    f"Kafka at {self.client.servers} has not accepted the transactional id yet"
                )
                reason = joining if state.healthy else state.explanation
                raise UnavailableError(f"The position cannot be read: {reason}.")
        self._positions.stored = load_positions(self.client, self._records, until_s, self._clock)
        self._is_loaded = True
        return StoredOffsets(all_values(self._positions.stored))

    def begin_at(self, positions: Mapping[Any, Any]) -> None:
        """Raises UnavailableError after ten seconds."""
        begun = {str(source): self._records.values(source, at) for source, at in positions.items()}
        until_s = self._clock() + _LOAD_S
        while not begun.keys() <= self._positions.stored.keys():
            if self._clock() >= until_s:
                raise UnavailableError(f"The position is not stored: {self.state().explanation}.")
            if self._transactional.phase is Phase.READY:
                self._transactional.begin()
                self._store_position({**begun, **self._positions.stored})
            self._tick(_STEP_S)

    def save(self, values: Mapping[str, str], /) -> None:
        """Does nothing, because a transaction has stored the position of acknowledged events."""

    def send(self, numbered: NumberedBatch[Any, Any], start: int, deadline_s: float) -> int:
        if not self._is_loaded:
            raise RuntimeError("load() must be called before send()")
        until_s = self._clock() + deadline_s
        self._tick(0)
        if self._batch_size.should_grow and self._has_nothing_open:
            self._batch_size.grow()
            raise SinkRestartError(
                "No batch was rejected for a while: a new producer uses large batches again."
            )
        batch = numbered.batch
        if not len(batch):
            self._positions.reach(numbered.source, batch, 0)
            return 0
        taken = start
        while taken < len(batch) and self._accepts_events and self._clock() < until_s:
            goal = next_commit_point(batch, taken + _CHUNK_EVENTS)
            reached = self._send_slice(BatchSlice(numbered, taken, goal), until_s)
            self.client.poll(0)
            if reached == taken:
                break
            taken = reached
            self._is_at_commit_point = taken == goal or last_commit_point(batch, taken) == taken
            if self._is_at_commit_point:
                self._positions.reach(numbered.source, batch, taken)
        return taken - start

    def poll(self, timeout_s: float) -> DeliveryResult:
        self._tick(timeout_s)
        result = self._take_result()
        if not result.acknowledged:
            self.client.probe_if_due()
        return result

    def dead_letter(self, number: int) -> None:
        self._failures.awaiting_dead_letter.discard(number)

    def state(self) -> SinkState:
        # A transaction contains the events in order.
        state = self.client.state(others_pass=False)
        if not state.healthy:
            return state
        waits_s = self._clock() - self._opened_at_s
        if (
            self.transactions is not None
            and self.transactions.phase is Phase.JOINING
            and waits_s > _LONG_JOIN_S
        ):
            return SinkState(
                False,
                f"Kafka at {self.client.servers} has not accepted the transactional id "
                f"{self._records.transactional_id} for {duration_text(waits_s)}. Check that enough "
                "replicas of __transaction_state are in sync.",
            )
        if self._failures.awaiting_dead_letter:
            return SinkState(
                False,
                "an event that Kafka rejected is not yet recorded as a dead letter",
                code=DEAD_LETTERS_WAITING,
                remedy="Wait. If it lasts, another condition states the cause.",
            )
        return state

    def close(self, deadline_s: float) -> DeliveryResult:
        """Commit a transaction that ends at a commit point; abort any other."""
        if self.transactions is None:
            return DeliveryResult()
        until_s = self._clock() + deadline_s
        self._is_closing = True
        if not self._is_at_commit_point:
            self._failures.suspect(None)
        try:
            while self.has_work and self._clock() < until_s:
                self._tick(min(_STEP_S, self._until(until_s)))
        except SidecarError as error:
            logger.warning("sink did not close cleanly", extra=fields(reason=str(error)))
        # A pending commit keeps the producer alive; `load` shows whether it succeeded.
        self.client.release()
        self.transactions = None
        return self._take_result()

    @property
    def _transactional(self) -> TransactionalProducer:
        if self.transactions is None:
            raise RuntimeError("the sink is not open")
        return self.transactions

    @property
    def _has_nothing_open(self) -> bool:
        """Whether every accepted event is committed."""
        is_open = self._contents.unsent is not None or self._failures.awaiting_dead_letter
        return self._transactional.phase is Phase.READY and not is_open

    @property
    def _accepts_events(self) -> bool:
        contents = self._contents
        return not (
            self._transactional.is_waiting
            or self._failures.awaiting_dead_letter
            or self._failures.is_failing
            or self._is_flushing
            or contents.unsent is not None
            or self.commit_rule.is_full(contents.events, contents.size_bytes)
        )

    @property
    def has_work(self) -> bool:
        """Whether `close` must wait."""
        match self._transactional.phase:
            case Phase.JOINING:
                return False
            case Phase.READY:
                is_left = self._contents.unsent is not None or self._positions.has_moved
                return (
                    is_left and self._is_at_commit_point and not self._failures.awaiting_dead_letter
                )
            case _:
                return True

    @property
    def _due_in_s(self) -> float:
        if self._is_closing:
            return 0.0
        return self.commit_rule.due_in_s(
            self._contents.events,
            self._contents.size_bytes,
            self._transactional.open_for_s,
            self._clock() - self._stored_at_s,
            self._positions.has_moved,
        )

    def _tick(self, timeout_s: float) -> None:
        """Wait up to `timeout_s` seconds for a result, and advance the transaction."""
        self.client.producer()
        transactions = self._transactional
        ended = None
        try:
            if transactions.is_waiting:
                ended = transactions.wait(timeout_s)
            elif self._is_flushing:
                self.client.poll(timeout_s, flush=True)
            else:
                self.client.poll(min(timeout_s, self._due_in_s))
            self._failures.read_reports(is_open=transactions.phase is Phase.OPEN)
            self._on_end(ended)
            self.client.raise_error()
            self._advance(transactions)
        except SidecarError as error:
            self.client.fail(error)
            raise

    def _on_end(self, ended: CallResult | None) -> None:
        match ended:
            case CallResult.COMMITTED:
                self._acknowledged += self._contents.committed()
                self.client.liveness.acknowledged(waiting=0)
                self._stored_at_s = self._clock()
                self._is_flushing = False
                self._positions.committed()
            case CallResult.ABORTED:
                # Only at shutdown: the next start resends the events.
                self._positions.discard_reached()
            case CallResult.FAILED:
                failure = self._transactional.failure
                assert failure is not None
                self._failures.suspect(f"a transaction failed: {reason(failure)}")

    def _advance(self, transactions: TransactionalProducer) -> None:
        """Take the next step that does not have to wait."""
        if transactions.phase is Phase.OPEN:
            if self._failures.is_failing:
                self._abandon_transaction(transactions)
            elif self._contents.unsent is not None:
                self._resend()
            elif self._is_flushing:
                # Committing a failed transaction would wait for messages in flight until its
                # timeout, so the commit follows once all are reported.
                if not len(self.client.producer()):
                    transactions.commit()
            elif self._is_at_commit_point and not self._due_in_s:
                self._store_position(self._positions.current())
        elif (
            transactions.phase is Phase.READY
            and self._is_loaded
            and not self._failures.awaiting_dead_letter
        ):
            if self._contents.unsent is not None:
                self._resend()
            elif self._positions.has_moved and not self._due_in_s:
                self._store_position_alone(transactions)

    def _abandon_transaction(self, transactions: TransactionalProducer) -> None:
        """Leave a failed transaction once its messages in flight are reported, because a report may
        contain the cause.

        `abort_transaction` waits, up to its timeout, for messages that the client retains after a
        rejected message. A new producer does not.
        """
        if self._is_closing:
            transactions.abort()
            return
        if not self._failures.can_resend(is_settled=not len(self.client.producer())):
            return
        self._contents.aborted()
        self._failures.reset()
        self._is_flushing = False
        # The broker has just answered, so its silence from now on does not indicate a failure.
        self.client.liveness.events_aborted()
        producer = self.client.release()
        assert producer is not None
        producer.purge()
        self._join()

    def _store_position_alone(self, transactions: TransactionalProducer) -> None:
        """Store a position without events, if it differs from the stored one."""
        reached = self._positions.current()
        if reached == self._positions.stored:
            self._positions.discard_reached()
            return
        transactions.begin()
        self._store_position(reached)

    def _store_position(self, positions: Positions) -> None:
        """Add the position, the last record of a transaction."""
        try:
            self.client.producer().produce(
                self._records.topic,
                position_bytes(positions),
                self._records.key,
                POSITION_PARTITION,
                on_delivery=self._failures.callback(None),
            )
        except BufferError:
            return
        except KafkaException as raised:
            self._failures.position_rejected(raised.args[0])
            return
        self._positions.begin_commit(positions)
        self._is_flushing = True

    def _resend(self) -> None:
        until_s = self._clock() + _AGAIN_S
        while (piece := self._contents.unsent) is not None and self._clock() < until_s:
            chunk = replace(piece, stop=min(piece.stop, piece.first + _CHUNK_EVENTS))
            if self._send_slice(chunk, until_s) == piece.first:
                break

    def _send_slice(self, piece: BatchSlice, until_s: float) -> int:
        """Send events. Return the index of the first event that is not in the transaction. A
        missing topic or a full client queue ends the slice early."""
        numbered, first, stop = piece.numbered, piece.first, piece.stop

        def partitions(topic: str) -> int | None:
            return self.client.partition_count(topic, self._until(until_s))

        sent = self._failures.callback(SentEvents(numbered, first, len(piece)))
        arguments = numbered.batch.produce_arguments(first, stop, partitions, sent)
        if first + len(arguments) < stop:
            stop = max(first, last_commit_point(numbered.batch, first + len(arguments)))
        if first == stop:
            return first
        if self._transactional.phase is Phase.READY:
            self._transactional.begin()
        produce: Callable[..., None] = self.client.producer().produce
        numbers = range(numbered.first + first, numbered.first + stop)
        try:
            for number, each in self._contents.without_excluded(numbers, arguments):
                try:
                    produce(*each)
                except BufferError:
                    stop = number - numbered.first
                    break
        except KafkaException as raised:
            # All count as accepted: this transaction cannot be committed anyway.
            self._failures.produce_failed(number, raised.args[0])
        self._contents.sent(replace(piece, stop=stop))
        self.client.liveness.events_sent()
        return stop

    def _fatal_error(self, error: KafkaError) -> SidecarError:
        open_for_s = 0.0 if self.transactions is None else self.transactions.open_for_s
        return final_error(
            error, self._records.transactional_id, open_for_s, int(self._timeout_ms) / 1000
        )

    def _take_result(self) -> DeliveryResult:
        result = DeliveryResult(tuple(self._acknowledged), tuple(self._failures.failed))
        self._acknowledged.clear()
        self._failures.failed.clear()
        return result

    def _until(self, until_s: float) -> float:
        return max(0.0, until_s - self._clock())
