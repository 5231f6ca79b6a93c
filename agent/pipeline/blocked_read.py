"""Decides how long the agent waits if it cannot read the next record of a segment.

A record with an unknown table or column waits for the schema. A record without ids for its Avro
schemas waits for the registry, and an encrypted file for its key. After a timeout the agent
abandons the record and quarantines the segment. The agent waits indefinitely if the environment
prevents the read: a permission, the disk, the mount.

`commitlog/events/src/record_error.rs` decides what a record is missing.
"""

import math
from dataclasses import dataclass, replace
from enum import Enum, auto

from agent.cdc_raw.names import SegmentName
from commitlog import Schema
from sidecar.encoding import Unregistered
from sidecar.schema_registry.registrar import Registration, RegistrationStatus

RETRY_S = 1.0
_ASK_AGAIN_S = 60.0
_NOBODY = Registration(RegistrationStatus.PENDING)


Missing = tuple[str, str | None]
"""A table or column that a record needs but the schema does not contain: table id and column name,
or None for a table."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why one segment is blocked."""

    name: SegmentName
    position: int
    """End of the record, or the position at which the file cannot be read."""
    missing: Missing | None
    """None if the file itself cannot be read."""
    message: str
    schema: Schema
    """The schema with which the read failed."""
    since_s: float
    next_try_s: float
    unregistered: tuple[Unregistered, ...] = ()
    """Avro schemas without ids. If there are any, `schema` is complete."""
    rejected_since_s: float | None = None
    """When the registry first rejected one of these schemas."""
    is_again: bool = False
    """Whether the agent abandoned the same table before, and tries the registry once more."""
    is_asked: bool = False
    """Whether the agent has sent a request since the segment was blocked."""
    is_bounded: bool = True
    """False if the agent waits indefinitely."""

    @property
    def identity(self) -> tuple[object, ...]:
        """If an obstacle with the same identity follows, the wait continues."""
        return self.name, self.position, self.missing


class Action(Enum):
    WAIT = auto()
    ASK = auto()
    """Request a newer schema."""
    REGISTER = auto()
    """Request ids from a registry."""
    READ = auto()
    """Read again: something changed, or a retry is due."""
    ABANDON = auto()


class BlockedRead:
    """The current obstacle and abandoned tables. Callers pass the time in seconds.

    Reads skip all records of abandoned tables and columns, so that a dropped table does not block
    every record. Once the schema contains them, the agent reads such records again. If a registry
    rejected a table's schemas, the agent repeats the request once a minute, with the table's next
    record. Repeated rejections do not block.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._last: Obstacle | None = None
        self._abandoned: dict[Missing, float | None] = {}
        """Values: time of the next registry request; None for an unknown table or column."""
        self.obstacle: Obstacle | None = None

    def abandoned(self, now_s: float) -> tuple[Missing, ...]:
        """Returns abandoned tables and columns, for `OpenSegment.read`."""
        return tuple(
            missing
            for missing, again_s in self._abandoned.items()
            if again_s is None or now_s < again_s
        )

    def ask_again(self) -> None:
        """Handles an operator's retry: the next records of abandoned tables trigger new requests to
        the registry or for the schema."""
        asked = (missing for missing, again_s in self._abandoned.items() if again_s is not None)
        self._abandoned = dict.fromkeys(asked, -math.inf)

    def begin(self, obstacle: Obstacle) -> Obstacle:
        """Starts to wait. If the previous obstacle returned, its wait continues."""
        obstacle = replace(obstacle, is_again=obstacle.missing in self._abandoned)
        if self._last is not None and self._last.identity == obstacle.identity:
            obstacle = replace(obstacle, since_s=self._last.since_s)
        self.obstacle = obstacle
        return obstacle

    def step(self, schema: Schema | None, now_s: float, answer: Registration = _NOBODY) -> Action:
        """Returns the next action; `schema` is the current schema, `answer` the registry's answer
        about missing ids."""
        obstacle = self.obstacle
        if obstacle is None:
            return Action.WAIT
        if obstacle.missing is not None and schema is not None and schema is not obstacle.schema:
            return Action.READ
        if obstacle.unregistered:
            return self._registry_step(obstacle, answer, now_s)
        is_asked = obstacle.next_try_s > obstacle.since_s
        is_over = obstacle.is_bounded and now_s - obstacle.since_s >= self._timeout_s
        if is_asked and is_over:
            return Action.ABANDON
        if now_s < obstacle.next_try_s:
            return Action.WAIT
        return Action.READ if obstacle.missing is None else Action.ASK

    def _registry_step(self, obstacle: Obstacle, answer: Registration, now_s: float) -> Action:
        """Waits indefinitely if the registry does not answer. Waits until the timeout if the
        registry rejects a schema, because its settings may change."""
        if answer.status is RegistrationStatus.REGISTERED:
            if obstacle.missing is not None:
                self._abandoned.pop(obstacle.missing, None)
            return Action.READ
        if answer.error:
            obstacle = self.obstacle = replace(obstacle, message=answer.error)
        if answer.status is not RegistrationStatus.REJECTED:
            obstacle = self.obstacle = replace(obstacle, rejected_since_s=None)
        elif obstacle.is_again and obstacle.is_asked:
            return Action.ABANDON
        elif obstacle.rejected_since_s is None:
            obstacle = self.obstacle = replace(obstacle, rejected_since_s=now_s)
        elif now_s - obstacle.rejected_since_s >= self._timeout_s:
            return Action.ABANDON
        return Action.WAIT if now_s < obstacle.next_try_s else Action.REGISTER

    def note_question(self, now_s: float) -> None:
        """Notes that the agent sent a request, and delays the next request."""
        if self.obstacle is not None:
            self.obstacle = replace(self.obstacle, next_try_s=now_s + RETRY_S, is_asked=True)

    def end(self) -> None:
        """Ends the wait; if reading meets the same obstacle again, the wait continues."""
        self._last, self.obstacle = self.obstacle, None

    def abandon(self, now_s: float) -> None:
        obstacle, self.obstacle, self._last = self.obstacle, None, None
        if obstacle is not None and obstacle.missing is not None:
            self._abandoned[obstacle.missing] = (
                now_s + _ASK_AGAIN_S if obstacle.unregistered else None
            )

    def due_in_s(self, now_s: float) -> float | None:
        """Seconds until the next action is due; None without an obstacle."""
        if self.obstacle is None:
            return None
        due_s = self.obstacle.next_try_s
        if not self.obstacle.unregistered and self.obstacle.is_bounded:
            due_s = min(due_s, self.obstacle.since_s + self._timeout_s)
        return max(0.0, due_s - now_s)
