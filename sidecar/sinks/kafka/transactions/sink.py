"""The Kafka sink that stores the position with the events: exactly once.

    begin │ events … events │ one record in position.topic │ commit ► these events are acknowledged

A transaction ends where reading can start again (`boundaries`), when it is due (`CommitRule`). What
is in it is kept until it is committed. An event that Kafka refuses is the end of its transaction:
the event is answered as failed, and, once it is kept elsewhere (`dead_letter`), all others are sent
again in a transaction without it. For any other cause the pipeline sends again from the stored
position, which `load` gives.
"""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from sidecar.delivery import EventBatch, Numbered
from sidecar.errors import (
    SidecarError,
    SinkRestartError,
    UnavailableError,
)
from sidecar.logs import fields
from sidecar.offsets import StoredOffsets
from sidecar.offsets.position_store import (
    PositionRecords,
    Positions,
    all_values,
    position_bytes,
)
from sidecar.sinks.base import DeliveryResult, SinkState
from sidecar.sinks.kafka.batch_size import BatchSize
from sidecar.sinks.kafka.client import KafkaClient
from sidecar.sinks.kafka.delivery_errors import reason
from sidecar.sinks.kafka.in_flight import SentEvents
from sidecar.sinks.kafka.topics.metadata import TopicCreation
from sidecar.sinks.kafka.transactions.commit_points import last_commit_point, next_commit_point
from sidecar.sinks.kafka.transactions.commit_rule import CommitRule
from sidecar.sinks.kafka.transactions.contents import BatchSlice, TransactionContents
from sidecar.sinks.kafka.transactions.errors import final_error
from sidecar.sinks.kafka.transactions.failures import TransactionFailures
from sidecar.sinks.kafka.transactions.position_topic import (
    POSITION_PARTITION,
    PositionTopic,
    position_topic_creation,
    positions_of,
)
from sidecar.sinks.kafka.transactions.producer import CallResult, Phase, TransactionalProducer

logger = logging.getLogger(__name__)

# As few as `producer` hands over at once, up to the next boundary.
_CHUNK_EVENTS = 250
_AGAIN_S = 0.1
_STEP_S = 0.1
_LOAD_S = 10.0
_LONG_JOIN_S = 15.0
_DEFAULT_TIMEOUT_MS = "60000"
_TIMEOUT = "transaction.timeout.ms"


class TransactionalKafkaSink:
    """Publishes to Kafka in transactions. A broker that is away is waited for; `state` says so.

    Behind each `open` the position is loaded before anything is sent.
    """

    def __init__(
        self,
        settings: Mapping[str, str],
        records: PositionRecords,
        rule: CommitRule,
        creation: TopicCreation | None = None,
        *,
        waits_when_refused: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`settings` are `kafka.producer.*` without the prefix. A topic that is refused to this
        user is waited for, or raised, by `waits_when_refused`. `clock` gives seconds."""
        self._client = KafkaClient(
            settings,
            creation,
            self._fatal_error,
            waits_when_refused=waits_when_refused,
            clock=clock,
        )
        self._records = records
        self._rule = rule
        self._creation = creation
        self._clock = clock
        self._batch_size = BatchSize(self._client.config, clock=clock)
        self._timeout_ms = self._client.config.get(_TIMEOUT, _DEFAULT_TIMEOUT_MS)
        self._transactions: TransactionalProducer | None = None
        self._reset()

    def _reset(self) -> None:
        self._contents = TransactionContents()
        self._failures = TransactionFailures(
            self._client,
            self._batch_size,
            self._records.topic,
            self._contents.exclude,
            self._clock,
        )
        self._acknowledged: list[range] = []
        self._is_flushing = False
        # By source: with everything that was taken this is reached, and is not stored.
        self._marks: dict[Any, _Mark] = {}
        self._storing: dict[Any, _Mark] = {}
        self._positions: Positions = {}
        self._positions_after: Positions = {}
        self._is_at_commit_point = True
        self._opened_at_s = self._stored_at_s = self._clock()
        self._is_loaded = False
        self._is_closing = False

    def open(self) -> None:
        """Waits up to five seconds for a broker. Raises ConfigError for settings that the client
        does not take, RefusedError when the broker refuses the login. `load` may have done it."""
        if self._transactions is not None:
            return
        self._reset()
        self._join()
        self._client.wait_for_broker()

    def _join(self) -> None:
        """A new producer, which shuts out whoever had the transactional id: another instance, or
        the producer before it, whose open transaction is aborted by that."""
        producer = self._client.open(
            {
                **self._batch_size.settings(),
                "transactional.id": self._records.transactional_id,
                _TIMEOUT: self._timeout_ms,
                "delivery.report.only.error": True,
            }
        )
        self._transactions = TransactionalProducer(
            producer,
            self._records.transactional_id,
            int(self._timeout_ms) / 1000,
            clock=self._clock,
        )

    def load(self) -> StoredOffsets:
        """The stored position, behind the end of the last transaction with this transactional id.

        Raises UnavailableError when no broker answers within ten seconds, LockedError,
        ConfigError, RefusedError, OffsetStoreError. Opens the sink when it is not open.
        """
        if self._transactions is None:
            self.open()
        until_s = self._clock() + _LOAD_S
        topic, sentence = self._records.topic, self._client.state
        while self._transactional.phase is Phase.JOINING:
            self._tick(_STEP_S)
            self._client.probe_if_due()
            if self._clock() >= until_s:
                raise UnavailableError(f"The position cannot be read: {sentence().message}.")
        topics = self._client.topics(position_topic_creation(self._creation))
        while topics.partition_count(topic, _STEP_S) is None:
            self._client.poll(_STEP_S)
            if self._clock() >= until_s:
                missing = topics.missing.get(topic)
                why = sentence().message if missing is None else missing.message
                raise UnavailableError(f"The position cannot be read: {why} (position.topic).")
        positions = PositionTopic(
            topic, self._client.connection(), self._client.admin, clock=self._clock
        )
        positions.check(self._until(until_s))
        value = positions.last(self._records.key, self._until(until_s))
        self._positions = positions_of(self._records, value)
        self._is_loaded = True
        return StoredOffsets(all_values(self._positions))

    def begin_at(self, positions: Mapping[Any, Any]) -> None:
        """Stores the positions of sources that have none; durable on return, so that a crash in
        front of the first event does not begin at another time. Raises UnavailableError when that
        is not done within ten seconds."""
        begun = {str(source): self._records.values(source, at) for source, at in positions.items()}
        until_s = self._clock() + _LOAD_S
        while not begun.keys() <= self._positions.keys():
            if self._clock() >= until_s:
                raise UnavailableError(f"The position is not stored: {self.state().message}.")
            if self._transactional.phase is Phase.READY:
                self._transactional.begin()
                self._store_position({**begun, **self._positions})
            self._tick(_STEP_S)

    def send(self, numbered: Numbered[Any, Any], start: int, deadline_s: float) -> int:
        if not self._is_loaded:
            raise RuntimeError("the position is loaded before anything is sent")
        until_s = self._clock() + deadline_s
        self._tick(0)
        if self._batch_size.should_grow and self._has_nothing_open:
            self._batch_size.grow()
            raise SinkRestartError(
                "Nothing was refused for a while: a new producer makes large batches again."
            )
        batch = numbered.batch
        if not len(batch):
            self._marks[numbered.source] = _Mark(batch, 0)
            return 0
        taken = start
        while taken < len(batch) and self._accepts_events and self._clock() < until_s:
            goal = next_commit_point(batch, taken + _CHUNK_EVENTS)
            reached = self._send_slice(BatchSlice(numbered, taken, goal), until_s)
            self._client.poll(0)
            if reached == taken:
                break
            taken = reached
            self._is_at_commit_point = taken == goal or last_commit_point(batch, taken) == taken
            if self._is_at_commit_point:
                self._marks[numbered.source] = _Mark(batch, taken)
        return taken - start

    def poll(self, timeout_s: float) -> DeliveryResult:
        self._tick(timeout_s)
        outcome = self._take_outcome()
        if not outcome.acknowledged:
            self._client.probe_if_due()
        return outcome

    def dead_letter(self, number: int) -> None:
        self._failures.awaiting_dead_letter.discard(number)

    def state(self) -> SinkState:
        state = self._client.state()
        if not state.healthy:
            return state
        waits_s = self._clock() - self._opened_at_s
        if (
            self._transactions is not None
            and self._transactions.phase is Phase.JOINING
            and waits_s > _LONG_JOIN_S
        ):
            return SinkState(
                False,
                f"Kafka at {self._client.servers} has not admitted the transactional id "
                f"{self._records.transactional_id} for {waits_s:.0f} s; are enough replicas of "
                "__transaction_state in sync?",
            )
        if self._failures.awaiting_dead_letter:
            return SinkState(False, "an event that Kafka refuses waits to be kept elsewhere")
        return state

    def close(self, deadline_s: float) -> DeliveryResult:
        """Commits what ends at a boundary and aborts what does not."""
        if self._transactions is None:
            return DeliveryResult()
        until_s = self._clock() + deadline_s
        self._is_closing = True
        if not self._is_at_commit_point:
            self._failures.suspect(None)
        try:
            while self._has_work and self._clock() < until_s:
                self._tick(min(_STEP_S, self._until(until_s)))
        except SidecarError as error:
            logger.warning("the sink did not close cleanly", extra=fields(reason=str(error)))
        # A call that waits has the producer until it ends. Whether it commits, `load` will tell.
        self._client.release()
        self._transactions = None
        return self._take_outcome()

    @property
    def _transactional(self) -> TransactionalProducer:
        if self._transactions is None:
            raise RuntimeError("the sink is not open")
        return self._transactions

    @property
    def _has_nothing_open(self) -> bool:
        """Whether all that was taken is committed."""
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
            or self._rule.is_full(contents.events, contents.size_bytes)
        )

    @property
    def _has_work(self) -> bool:
        """Whether there is anything that a close waits for."""
        match self._transactional.phase:
            case Phase.JOINING:
                return False
            case Phase.READY:
                is_left = self._contents.unsent is not None or bool(self._marks)
                return (
                    is_left and self._is_at_commit_point and not self._failures.awaiting_dead_letter
                )
            case _:
                return True

    @property
    def _due_in_s(self) -> float:
        """When the next commit is due, seconds."""
        if self._is_closing:
            return 0.0
        return self._rule.due_in_s(
            self._contents.events,
            self._contents.size_bytes,
            self._transactional.open_for_s,
            self._clock() - self._stored_at_s,
            bool(self._marks),
        )

    def _tick(self, timeout_s: float) -> None:
        """Waits for something up to `timeout_s` seconds, and does what follows from it."""
        self._client.producer()
        transactions = self._transactional
        ended = None
        try:
            if transactions.is_waiting:
                ended = transactions.wait(timeout_s)
            elif self._is_flushing:
                self._client.poll(timeout_s, flush=True)
            else:
                self._client.poll(min(timeout_s, self._due_in_s))
            self._failures.read_reports(is_open=transactions.phase is Phase.OPEN)
            self._on_end(ended)
            self._client.raise_error()
            self._advance(transactions)
        except SidecarError as error:
            self._client.fail(error)
            raise

    def _on_end(self, ended: CallResult | None) -> None:
        match ended:
            case CallResult.COMMITTED:
                self._acknowledged += self._contents.committed()
                self._client.liveness.acknowledged(waiting=0)
                self._stored_at_s = self._clock()
                self._is_flushing = False
                self._positions = self._positions_after
                for source, mark in self._storing.items():
                    if self._marks.get(source) is mark:
                        del self._marks[source]
            case CallResult.ABORTED:
                # At the end; its events are sent by the next one that loads the position.
                self._marks.clear()
            case CallResult.FAILED:
                failure = self._transactional.failure
                assert failure is not None
                self._failures.suspect(f"a transaction failed: {reason(failure)}")

    def _advance(self, transactions: TransactionalProducer) -> None:
        """The next step, if there is one that has not to wait."""
        if transactions.phase is Phase.OPEN:
            if self._failures.is_failing:
                self._abandon_transaction(transactions)
            elif self._contents.unsent is not None:
                self._resend()
            elif self._is_flushing:
                # A commit of a transaction that has failed would wait for messages on their way
                # until its timeout, so it is not called before all are answered.
                if not len(self._client.producer()):
                    transactions.commit()
            elif self._is_at_commit_point and not self._due_in_s:
                self._store_position(self._reached())
        elif (
            transactions.phase is Phase.READY
            and self._is_loaded
            and not self._failures.awaiting_dead_letter
        ):
            if self._contents.unsent is not None:
                self._resend()
            elif self._marks and not self._due_in_s:
                self._store_position_alone(transactions)

    def _abandon_transaction(self, transactions: TransactionalProducer) -> None:
        """Out of a transaction that cannot be committed, once the messages that are on their way
        are answered: one of them may have the cause.

        `abort_transaction` waits for such as the client holds back behind a refused one, and may do
        so until its timeout. A new producer does not.
        """
        if self._is_closing:
            transactions.abort()
            return
        if not self._failures.can_resend(is_settled=not len(self._client.producer())):
            return
        self._contents.aborted()
        self._failures.reset()
        self._is_flushing = False
        # The broker answered with the refusals: its silence from here on is no sign of anything.
        self._client.liveness.events_aborted()
        producer = self._client.release()
        assert producer is not None
        producer.purge()
        self._join()

    def _store_position_alone(self, transactions: TransactionalProducer) -> None:
        """A position without events, if it is another one than the stored."""
        reached = self._reached()
        if reached == self._positions:
            self._marks.clear()
            return
        transactions.begin()
        self._store_position(reached)

    def _reached(self) -> Positions:
        """Of all sources, with everything that was taken."""
        reached = {
            str(source): self._records.values(source, mark.batch.position_after(mark.events))
            for source, mark in self._marks.items()
        }
        return {**self._positions, **reached}

    def _store_position(self, positions: Positions) -> None:
        """The last record of a transaction."""
        try:
            self._client.producer().produce(
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
        self._storing, self._positions_after = dict(self._marks), positions
        self._is_flushing = True

    def _resend(self) -> None:
        until_s = self._clock() + _AGAIN_S
        while (piece := self._contents.unsent) is not None and self._clock() < until_s:
            chunk = replace(piece, stop=min(piece.stop, piece.first + _CHUNK_EVENTS))
            if self._send_slice(chunk, until_s) == piece.first:
                break

    def _send_slice(self, piece: BatchSlice, until_s: float) -> int:
        """Gives the first event that is not in the transaction; a missing topic, or a client that
        is full, makes it earlier than the end."""
        numbered, first, stop = piece.numbered, piece.first, piece.stop

        def partitions(topic: str) -> int | None:
            return self._client.partition_count(topic, self._until(until_s))

        sent = self._failures.callback(SentEvents(numbered, first, len(piece)))
        arguments = numbered.batch.produce_arguments(first, stop, partitions, sent)
        if first + len(arguments) < stop:
            stop = max(first, last_commit_point(numbered.batch, first + len(arguments)))
        if first == stop:
            return first
        if self._transactional.phase is Phase.READY:
            self._transactional.begin()
        produce: Callable[..., None] = self._client.producer().produce
        numbers = range(numbered.first + first, numbered.first + stop)
        try:
            for number, each in self._contents.without_excluded(numbers, arguments):
                try:
                    produce(*each)
                except BufferError:
                    stop = number - numbered.first
                    break
        except KafkaException as raised:
            # All of them count as taken: this transaction cannot be committed.
            self._failures.produce_failed(number, raised.args[0])
        self._contents.sent(replace(piece, stop=stop))
        self._client.liveness.events_sent()
        return stop

    def _fatal_error(self, error: KafkaError) -> SidecarError:
        """The client itself has no way on."""
        open_for_s = 0.0 if self._transactions is None else self._transactions.open_for_s
        return final_error(
            error, self._records.transactional_id, open_for_s, int(self._timeout_ms) / 1000
        )

    def _take_outcome(self) -> DeliveryResult:
        outcome = DeliveryResult(tuple(self._acknowledged), tuple(self._failures.failed))
        self._acknowledged.clear()
        self._failures.failed.clear()
        return outcome

    def _until(self, until_s: float) -> float:
        return max(0.0, until_s - self._clock())


@dataclass(frozen=True, slots=True)
class _Mark:
    """A position: that behind so many events of a batch."""

    batch: EventBatch[Any]
    events: int
