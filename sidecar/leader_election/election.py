"""A member of the consumer group that elects the leader.

The member subscribes to the position topic but reads nothing from it. Kafka's coordinator assigns
partition 0 to one member, and removes a member that is silent for the session timeout. The assignor
is sticky: a newcomer does not take the partition from a leader.
"""

import logging
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from confluent_kafka import OFFSET_END, Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclOperation
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._resource import ResourceType

from sidecar.errors import AccessDeniedError, Policy, SidecarError, UnavailableError
from sidecar.leader_election.role import (
    Assigned,
    Fenced,
    GroupEvent,
    Membership,
    Revoked,
    Role,
    SessionLost,
    after,
    denied_group,
    group_error,
    session_outside_limits,
)
from sidecar.logs import RateLimitedLog, fields
from sidecar.process.lifecycle import PartStop, Stop, Worker
from sidecar.sinks.kafka.config.client_config import client_config, connection
from sidecar.sinks.kafka.delivery_errors import reason
from sidecar.sinks.kafka.topics.metadata import TopicCreation, TopicMetadata
from sidecar.sinks.kafka.transactions.position_topic import position_topic_creation

logger = logging.getLogger(__name__)

_POLL_S = 0.1
_HEARTBEATS_PER_SESSION = 6
_ANSWER_S = 2.0
_LOST = "the group's coordinator did not answer in time, or has removed the agent."
_LEFT = (
    "another agent took over the transactional id, so this agent left and rejoins. If this "
    "repeats, an agent with this topic.prefix runs without standby.enabled, or with a different "
    "position.topic: stop it, or correct its configuration."
)


@dataclass(frozen=True, slots=True)
class ElectionSettings:
    """`client` are `kafka.producer.*` without the prefix; `creation` as for the sink."""

    client: Mapping[str, str]
    group: str
    topic: str
    session_timeout_ms: int
    creation: TopicCreation | None = None
    waits_when_denied: bool = True


@dataclass(frozen=True, slots=True)
class Term:
    """The time from this agent's election until it loses its leadership, which requests `stop`."""

    number: int
    stop: PartStop


class LeaderElection(Worker):
    """Joins the group on a separate thread inside a `with` block, and leaves it at the end."""

    def __init__(self, settings: ElectionSettings) -> None:
        # If the coordinator does not answer, the session expires by itself.
        super().__init__("election", self._run)
        self._settings = settings
        self._config: Mapping[str, Any] = client_config(settings.client)
        self._lock = threading.Lock()
        self._membership = Membership()
        self._part: PartStop | None = None
        self._failure: SidecarError | None = None
        self._ask_at_s = 0.0
        self._log = RateLimitedLog(logger)
        self.error = ""
        """Why the agent is not a member of the group; empty for a member."""

    @property
    def group(self) -> str:
        return self._settings.group

    @property
    def role(self) -> Role:
        """Thread-safe."""
        return self._membership.role

    @contextmanager
    def term(self, stop: Stop) -> Iterator[Term | None]:
        """Waits until this agent leads. Yields None if `stop` was requested first.

        Raises ConfigError, and AccessDeniedError without `waits_when_denied`.
        """
        part = PartStop(stop)
        try:
            number = self._wait_until_leader(part)
            yield None if number is None else Term(number, part)
        finally:
            with self._lock:
                self._part = None
            part.close()

    def fenced(self, term: Term) -> None:
        """Ends the term, in which another producer took over the transactional id."""
        self._on(Fenced(term.number))

    def _wait_until_leader(self, part: PartStop) -> int | None:
        while not part.requested:
            self._raise_failure()
            with self._lock:
                if self._membership.role is Role.LEADER:
                    self._part = part
                    return self._membership.term
            part.wait(_POLL_S)
        return None

    def _raise_failure(self) -> None:
        failure = self._failure
        if failure is None or failure.policy is not Policy.STOP:
            return
        if not (isinstance(failure, AccessDeniedError) and self._settings.waits_when_denied):
            raise failure

    def _on(self, event: GroupEvent) -> None:
        with self._lock:
            before = self._membership
            self._membership = now = after(before, event)
            if before.role is Role.LEADER and now.role is not Role.LEADER and self._part:
                self._part.request()
        if now.role is not Role.CANDIDATE:
            self._failure, self.error = None, ""
        elif before.role is not Role.CANDIDATE:
            self.error = _LEFT if now.must_rejoin else _LOST
        if before.role is not now.role:
            logger.info(
                f"this agent is now {_ROLES[now.role]}",
                extra=fields(group=self.group, role=now.role.value),
            )

    def _run(self, stopped: threading.Event) -> None:
        while not stopped.is_set():
            try:
                self._take_part()
            except (SidecarError, KafkaException) as error:
                self._failed(error)
            self._on(SessionLost())
            stopped.wait(2 * self._heartbeat_ms / 1000)

    def _take_part(self) -> None:
        """Runs one consumer as a group member, until it must leave the group."""
        consumer = Consumer(self._consumer_config())
        try:
            self._await_topic(consumer)
            consumer.subscribe(
                [self._settings.topic],
                on_assign=self._assigned,
                on_revoke=self._revoked,
                on_lost=lambda _, __: self._on(SessionLost()),
            )
            self._ask_at_s = time.monotonic() + self._settings.session_timeout_ms / 1000
            while not (self.is_stopping or self._membership.must_rejoin):
                record = consumer.poll(_POLL_S)
                if record is not None and (error := record.error()) is not None:
                    self._on_error(error)
                if self._membership.role is Role.CANDIDATE:
                    self._ask_why(consumer)
                elif not consumer.memberid():
                    self._on(SessionLost())
        finally:
            consumer.close()

    def _ask_why(self, consumer: Consumer) -> None:
        """Finds out why the group has not accepted the agent within a session timeout: the client
        does not report a missing right to find the coordinator."""
        now_s = time.monotonic()
        if self.error or now_s < self._ask_at_s:
            return
        settings = self._settings
        self._ask_at_s = now_s + settings.session_timeout_ms / 1000
        if consumer.memberid():
            return
        problem = group_problem(
            settings.client, settings.group, settings.session_timeout_ms, _ANSWER_S
        )
        if problem is not None and self._membership.role is Role.CANDIDATE:
            self._failed(problem)

    def _await_topic(self, consumer: Consumer) -> None:
        """Waits for the topic or creates it, because a group cannot assign a missing topic."""
        settings = self._settings
        topics = TopicMetadata(
            consumer.list_topics,
            lambda: AdminClient(dict(connection(self._config))),
            position_topic_creation(settings.creation),
            waits_when_denied=settings.waits_when_denied,
        )
        while topics.partition_count(settings.topic, _POLL_S) is None:
            missing = topics.missing.get(settings.topic)
            if missing is not None:
                self.error = f"{missing.message}. {missing.remedy}"
            consumer.poll(_POLL_S)
            if self.is_stopping:
                return

    def _assigned(self, consumer: Consumer, partitions: Sequence[TopicPartition]) -> None:
        # Paused at the end, because the member needs no committed offset and reads nothing.
        places = [TopicPartition(each.topic, each.partition, OFFSET_END) for each in partitions]
        consumer.incremental_assign(places)
        consumer.pause(places)
        self._on(Assigned(_numbers(partitions)))

    def _revoked(self, consumer: Consumer, partitions: Sequence[TopicPartition]) -> None:
        self._on(Revoked(_numbers(partitions)))

    def _on_error(self, error: KafkaError) -> None:
        """Records an error. The client also calls this for connection errors."""
        found = group_error(error, self.group, self._settings.session_timeout_ms)
        if found is not None:
            self._failed(found)
        elif (
            self._membership.role is Role.CANDIDATE
            and self._failure is None
            # The client has already reported the cause for each broker.
            and error.code() != KafkaError._ALL_BROKERS_DOWN
        ):
            servers = self._config.get("bootstrap.servers", "")
            self.error = f"Kafka at {servers} does not answer: {reason(error)}."

    def _failed(self, error: SidecarError | KafkaException) -> None:
        if isinstance(error, KafkaException):
            error = UnavailableError(f"The group {self.group} failed: {reason(error.args[0])}.")
        self._failure, self.error = error, str(error)
        self._log.log("election", str(error))

    @property
    def _heartbeat_ms(self) -> int:
        return max(1, self._settings.session_timeout_ms // _HEARTBEATS_PER_SESSION)

    def _consumer_config(self) -> dict[str, Any]:
        session_ms = self._settings.session_timeout_ms
        return {
            # `kafka-consumer-groups.sh --describe` then shows the pod's name.
            "client.id": socket.gethostname(),
            **connection(self._config),
            # A back-off longer than the session would cost the leader its role.
            "reconnect.backoff.ms": 100,
            "reconnect.backoff.max.ms": 1000,
            "group.id": self.group,
            "group.protocol": "classic",
            "partition.assignment.strategy": "cooperative-sticky",
            "session.timeout.ms": session_ms,
            "heartbeat.interval.ms": self._heartbeat_ms,
            # The group waits this long for members that do not rejoin.
            "max.poll.interval.ms": session_ms,
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "log_level": 0,
            "error_cb": self._on_error,
        }


_ROLES = {
    Role.CANDIDATE: "not a member of its group",
    Role.STANDBY: "on standby",
    Role.LEADER: "the leader",
}


def _numbers(partitions: Sequence[TopicPartition]) -> frozenset[int]:
    return frozenset(each.partition for each in partitions)


_LIMITS = ("group.min.session.timeout.ms", "group.max.session.timeout.ms")


def group_problem(
    settings: Mapping[str, str], group: str, session_timeout_ms: int, timeout_s: float
) -> SidecarError | None:
    """Return why the agent cannot join the group with this session timeout: AccessDeniedError or
    ConfigError. None without a problem, or if the brokers do not reveal it."""
    client = AdminClient({**connection(client_config(settings)), "log_level": 0})
    try:
        return _denied(client, group, session_timeout_ms, timeout_s) or _outside_limits(
            client, session_timeout_ms, timeout_s
        )
    except (KafkaException, FutureTimeoutError):
        return None


def _denied(
    client: AdminClient, group: str, session_timeout_ms: int, timeout_s: float
) -> SidecarError | None:
    asked = client.describe_consumer_groups(
        [group], include_authorized_operations=True, request_timeout=timeout_s
    )
    try:
        operations = asked[group].result(timeout_s).authorized_operations
    except KafkaException as error:
        return group_error(error.args[0], group, session_timeout_ms)
    if operations and not {AclOperation.READ, AclOperation.ALL} & set(operations):
        return denied_group(group, "it may only describe the group")
    return None


def _outside_limits(
    client: AdminClient, session_timeout_ms: int, timeout_s: float
) -> SidecarError | None:
    brokers = client.list_topics(timeout=timeout_s).brokers
    for broker in list(brokers)[:1]:
        resource = ConfigResource(ResourceType.BROKER, str(broker))
        futures = client.describe_configs([resource], request_timeout=timeout_s)
        configured: Mapping[str, Any] = futures[resource].result(timeout_s)
        least, most = (int(configured[name].value) for name in _LIMITS)
        if not least <= session_timeout_ms <= most:
            return session_outside_limits(session_timeout_ms, f"{least} to {most}")
    return None
