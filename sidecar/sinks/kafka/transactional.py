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
from sidecar.sinks.kafka.boundaries import boundary_from, boundary_up_to
from sidecar.sinks.kafka.client import KafkaClient
from sidecar.sinks.kafka.commit_rule import CommitRule
from sidecar.sinks.kafka.handed_over import Handed
from sidecar.sinks.kafka.position_topic import (
    POSITION_PARTITION,
    PositionTopic,
    position_topic_creation,
    positions_of,
)
from sidecar.sinks.kafka.refusals import reason
from sidecar.sinks.kafka.topics import TopicCreation
from sidecar.sinks.kafka.transaction_contents import Piece, TransactionContents
from sidecar.sinks.kafka.transaction_errors import final_error
from sidecar.sinks.kafka.transaction_failures import TransactionFailures
from sidecar.sinks.kafka.transactions import Ended, Phase, Transactions

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
            settings, creation, self._gave_up, waits_when_refused=waits_when_refused, clock=clock
        )
        self._records = records
        self._rule = rule
        self._creation = creation
        self._clock = clock
        self._batch_size = BatchSize(self._client.config, clock=clock)
        self._timeout_ms = self._client.config.get(_TIMEOUT, _DEFAULT_TIMEOUT_MS)
        self._transactions: Transactions | None = None
        self._reset()

    def _reset(self) -> None:
        self._contents = TransactionContents()
        self._failures = TransactionFailures(
            self._client,
            self._batch_size,
            self._records.topic,
            self._contents.refuse,
            self._clock,
        )
        self._acknowledged: list[range] = []
        self._is_flushing = False
        # By source: with everything that was taken this is reached, and is not stored.
        self._marks: dict[Any, _Mark] = {}
        self._storing: dict[Any, _Mark] = {}
        self._positions: Positions = {}
        self._positions_then: Positions = {}
        self._is_at_boundary = True
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
        self._client.first_contact()

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
        self._transactions = Transactions(
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
        while self._joined.phase is Phase.JOINING:
            self._turn(_STEP_S)
            self._client.probe_if_due()
            if self._clock() >= until_s:
                raise UnavailableError(f"The position cannot be read: {sentence().message}.")
        topics = self._client.topics(position_topic_creation(self._creation))
        while topics.partition_count(topic, _STEP_S) is None:
            self._client.serve(_STEP_S)
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
            if self._joined.phase is Phase.READY:
                self._joined.begin()
                self._store_position({**begun, **self._positions})
            self._turn(_STEP_S)

    def send(self, numbered: Numbered[Any, Any], start: int, deadline_s: float) -> int:
        if not self._is_loaded:
            raise RuntimeError("the position is loaded before anything is sent")
        until_s = self._clock() + deadline_s
        self._turn(0)
        if self._batch_size.may_grow and self._has_nothing_open:
            self._batch_size.grow()
            raise SinkRestartError(
                "Nothing was refused for a while: a new producer makes large batches again."
            )
        batch = numbered.batch
        if not len(batch):
            self._marks[numbered.source] = _Mark(batch, 0)
            return 0
        taken = start
        while taken < len(batch) and self._takes_events and self._clock() < until_s:
            goal = boundary_from(batch, taken + _CHUNK_EVENTS)
            reached = self._hand_over(Piece(numbered, taken, goal), until_s)
            self._client.serve(0)
            if reached == taken:
                break
            taken = reached
            self._is_at_boundary = taken == goal or boundary_up_to(batch, taken) == taken
            if self._is_at_boundary:
                self._marks[numbered.source] = _Mark(batch, taken)
        return taken - start

    def poll(self, timeout_s: float) -> DeliveryResult:
        self._turn(timeout_s)
        outcome = self._take_outcome()
        if not outcome.acknowledged:
            self._client.probe_if_due()
        return outcome

    def dead_letter(self, number: int) -> None:
        self._failures.unsettled.discard(number)

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
        if self._failures.unsettled:
            return SinkState(False, "an event that Kafka refuses waits to be kept elsewhere")
        return state

    def close(self, deadline_s: float) -> DeliveryResult:
        """Commits what ends at a boundary and aborts what does not."""
        if self._transactions is None:
            return DeliveryResult()
        until_s = self._clock() + deadline_s
        self._is_closing = True
        if not self._is_at_boundary:
            self._failures.doubt(None)
        try:
            while self._has_work and self._clock() < until_s:
                self._turn(min(_STEP_S, self._until(until_s)))
        except SidecarError as error:
            logger.warning("the sink did not close cleanly", extra=fields(reason=str(error)))
        # A call that waits has the producer until it ends. Whether it commits, `load` will tell.
        self._client.release()
        self._transactions = None
        return self._take_outcome()

    @property
    def _joined(self) -> Transactions:
        if self._transactions is None:
            raise RuntimeError("the sink is not open")
        return self._transactions

    @property
    def _has_nothing_open(self) -> bool:
        """Whether all that was taken is committed."""
        is_open = self._contents.again is not None or self._failures.unsettled
        return self._joined.phase is Phase.READY and not is_open

    @property
    def _takes_events(self) -> bool:
        contents = self._contents
        return not (
            self._joined.is_waiting
            or self._failures.unsettled
            or self._failures.is_failing
            or self._is_flushing
            or contents.again is not None
            or self._rule.is_full(contents.events, contents.size_bytes)
        )

    @property
    def _has_work(self) -> bool:
        """Whether there is anything that a close waits for."""
        match self._joined.phase:
            case Phase.JOINING:
                return False
            case Phase.READY:
                is_left = self._contents.again is not None or bool(self._marks)
                return is_left and self._is_at_boundary and not self._failures.unsettled
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
            self._joined.open_for_s,
            self._clock() - self._stored_at_s,
            bool(self._marks),
        )

    def _turn(self, timeout_s: float) -> None:
        """Waits for something up to `timeout_s` seconds, and does what follows from it."""
        self._client.opened()
        transactions = self._joined
        ended = None
        try:
            if transactions.is_waiting:
                ended = transactions.wait(timeout_s)
            elif self._is_flushing:
                self._client.serve(timeout_s, flush=True)
            else:
                self._client.serve(min(timeout_s, self._due_in_s))
            self._failures.read_reports(is_open=transactions.phase is Phase.OPEN)
            self._on_end(ended)
            self._client.raise_error()
            self._go_on(transactions)
        except SidecarError as error:
            self._client.fail(error)
            raise

    def _on_end(self, ended: Ended | None) -> None:
        match ended:
            case Ended.COMMITTED:
                self._acknowledged += self._contents.committed()
                self._client.contact.acknowledged(waiting=0)
                self._stored_at_s = self._clock()
                self._is_flushing = False
                self._positions = self._positions_then
                for source, mark in self._storing.items():
                    if self._marks.get(source) is mark:
                        del self._marks[source]
            case Ended.ABORTED:
                # At the end; its events are sent by the next one that loads the position.
                self._marks.clear()
            case Ended.FAILED:
                failure = self._joined.failure
                assert failure is not None
                self._failures.doubt(f"a transaction failed: {reason(failure)}")

    def _go_on(self, transactions: Transactions) -> None:
        """The next step, if there is one that has not to wait."""
        if transactions.phase is Phase.OPEN:
            if self._failures.is_failing:
                self._leave_failed(transactions)
            elif self._contents.again is not None:
                self._hand_over_again()
            elif self._is_flushing:
                # A commit of a transaction that has failed would wait for messages on their way
                # until its timeout, so it is not called before all are answered.
                if not len(self._client.opened()):
                    transactions.commit()
            elif self._is_at_boundary and not self._due_in_s:
                self._store_position(self._reached())
        elif transactions.phase is Phase.READY and self._is_loaded and not self._failures.unsettled:
            if self._contents.again is not None:
                self._hand_over_again()
            elif self._marks and not self._due_in_s:
                self._store_alone(transactions)

    def _leave_failed(self, transactions: Transactions) -> None:
        """Out of a transaction that cannot be committed, once the messages that are on their way
        are answered: one of them may have the cause.

        `abort_transaction` waits for such as the client holds back behind a refused one, and may do
        so until its timeout. A new producer does not.
        """
        if self._is_closing:
            transactions.abort()
            return
        if not self._failures.may_go_again(is_answered=not len(self._client.opened())):
            return
        self._contents.aborted()
        self._failures.forget()
        self._is_flushing = False
        # The broker answered with the refusals: its silence from here on is no sign of anything.
        self._client.contact.taken_back()
        producer = self._client.release()
        assert producer is not None
        producer.purge()
        self._join()

    def _store_alone(self, transactions: Transactions) -> None:
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
            self._client.opened().produce(
                self._records.topic,
                position_bytes(positions),
                self._records.key,
                POSITION_PARTITION,
                on_delivery=self._failures.callback(None),
            )
        except BufferError:
            return
        except KafkaException as raised:
            self._failures.refused_position(raised.args[0])
            return
        self._storing, self._positions_then = dict(self._marks), positions
        self._is_flushing = True

    def _hand_over_again(self) -> None:
        until_s = self._clock() + _AGAIN_S
        while (piece := self._contents.again) is not None and self._clock() < until_s:
            chunk = replace(piece, stop=min(piece.stop, piece.first + _CHUNK_EVENTS))
            if self._hand_over(chunk, until_s) == piece.first:
                break

    def _hand_over(self, piece: Piece, until_s: float) -> int:
        """Gives the first event that is not in the transaction; a missing topic, or a client that
        is full, makes it earlier than the end."""
        numbered, first, stop = piece.numbered, piece.first, piece.stop

        def partitions(topic: str) -> int | None:
            return self._client.partition_count(topic, self._until(until_s))

        handed = self._failures.callback(Handed(numbered, first, len(piece)))
        arguments = numbered.batch.produce_arguments(first, stop, partitions, handed)
        if first + len(arguments) < stop:
            stop = max(first, boundary_up_to(numbered.batch, first + len(arguments)))
        if first == stop:
            return first
        if self._joined.phase is Phase.READY:
            self._joined.begin()
        produce: Callable[..., None] = self._client.opened().produce
        numbers = range(numbered.first + first, numbered.first + stop)
        try:
            for number, each in self._contents.wanted(numbers, arguments):
                try:
                    produce(*each)
                except BufferError:
                    stop = number - numbered.first
                    break
        except KafkaException as raised:
            # All of them count as taken: this transaction cannot be committed.
            self._failures.refused_call(number, raised.args[0])
        self._contents.handed_over(replace(piece, stop=stop))
        self._client.contact.sent()
        return stop

    def _gave_up(self, error: KafkaError) -> SidecarError:
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
