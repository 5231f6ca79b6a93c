"""A segment whose next record cannot be read for now.

A record of an unknown table or column waits for the schema. A record without ids of its Avro
schemas waits for the registry, an encrypted file for its key. After a bounded time the reader
abandons the record: it is recorded and its segment quarantined. The agent waits without end for a
file that the environment rejects (a permission, the disk, the mount).

`commitlog/events/src/record_error.rs` decides what a record lacks; this module decides how long to
wait.
"""

import math
from dataclasses import dataclass, replace
from enum import Enum, auto

from agent.cdc_raw.names import SegmentName
from commitlog import Blocked, Schema
from sidecar.encoding import Unregistered
from sidecar.schema_registry.registrar import Registration, RegistrationStatus

RETRY_S = 1.0
_ASK_AGAIN_S = 60.0
_NOBODY = Registration(RegistrationStatus.PENDING)


@dataclass(frozen=True, slots=True)
class Missing:
    """A table or column that a record needs and the schema lacks."""

    table_id: str
    column: str | None


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why one segment is blocked."""

    name: SegmentName
    position: int
    """End of the record, or the position at which the file cannot be read."""
    missing: Missing | None
    """None when the file itself cannot be read."""
    message: str
    schema: Schema
    """The schema in which it is missing."""
    since_s: float
    next_try_s: float
    unregistered: tuple[Unregistered, ...] = ()
    """Avro schemas without ids; then the schema lacks nothing."""
    rejected_since_s: float | None = None
    """When the registry first rejected one of them."""
    is_again: bool = False
    """They were rejected and abandoned before; the agent asks the registry once more."""
    is_asked: bool = False
    """The agent has asked since the segment was blocked."""
    is_bounded: bool = True
    """False: the agent waits without end."""

    def is_of(self, other: "Obstacle") -> bool:
        """True when both are the same obstacle, so that its time continues."""
        return (self.name, self.position, self.missing) == (
            other.name,
            other.position,
            other.missing,
        )


def record_obstacle(name: SegmentName, blocked: Blocked, schema: Schema, now_s: float) -> Obstacle:
    """A record needs a table or a column that the schema lacks; the first question is due at
    once."""
    return Obstacle(
        name,
        blocked.position,
        Missing(blocked.table_id, blocked.column),
        blocked.reason,
        schema,
        now_s,
        now_s,
        tuple(blocked.unregistered),
    )


class Action(Enum):
    """The next action about an obstacle."""

    WAIT = auto()
    ASK = auto()
    """Ask for a newer schema."""
    REGISTER = auto()
    """Ask a registry for ids."""
    READ = auto()
    """Read again: something changed, or a retry is due."""
    ABANDON = auto()


class BlockedRead:
    """The present obstacle and the abandoned ones. Pure: the caller gives times, in seconds.

    A read skips all records of abandoned tables and columns: one dropped table must not block every
    record again. When the schema learns them the agent reads them again. A registry that rejected
    the schemas of a table is asked again once a minute, with the next record of the table. While it
    still rejects them it blocks nothing.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._last: Obstacle | None = None
        self._abandoned: dict[Missing, float | None] = {}
        """By time of the next question to the registry; None: the schema has to learn them."""
        self.obstacle: Obstacle | None = None

    def abandoned(self, now_s: float) -> tuple[tuple[str, str | None], ...]:
        """Abandoned tables and columns, for `OpenSegment.read`."""
        return tuple(
            (missing.table_id, missing.column)
            for missing, again_s in self._abandoned.items()
            if again_s is None or now_s < again_s
        )

    def ask_again(self) -> None:
        """The operator requests a retry: registries are asked with the next record, and the schema
        for what it lacked."""
        asked = (missing for missing, again_s in self._abandoned.items() if again_s is not None)
        self._abandoned = dict.fromkeys(asked, -math.inf)

    def begin(self, obstacle: Obstacle) -> Obstacle:
        """Waits for what an obstacle lacks. If it is the last one again, its time continues."""
        obstacle = replace(obstacle, is_again=obstacle.missing in self._abandoned)
        if self._last is not None and self._last.is_of(obstacle):
            obstacle = replace(obstacle, since_s=self._last.since_s)
        self.obstacle = obstacle
        return obstacle

    def step(self, schema: Schema | None, now_s: float, answer: Registration = _NOBODY) -> Action:
        """The next action; `schema` is the present one, `answer` that of the registry about the
        missing ids."""
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
        """Waits without end for a registry that does not answer, for a bounded time for one that
        rejects a schema: its settings may change."""
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
        """The agent has asked; the next question waits."""
        if self.obstacle is not None:
            self.obstacle = replace(self.obstacle, next_try_s=now_s + RETRY_S, is_asked=True)

    def end(self) -> None:
        """Reading continues; if it meets the same obstacle, its time continues too."""
        self._last, self.obstacle = self.obstacle, None

    def abandon(self, now_s: float) -> None:
        """The obstacle has lasted too long."""
        obstacle, self.obstacle, self._last = self.obstacle, None, None
        if obstacle is not None and obstacle.missing is not None:
            self._abandoned[obstacle.missing] = (
                now_s + _ASK_AGAIN_S if obstacle.unregistered else None
            )

    def due_in_s(self, now_s: float) -> float | None:
        """When the next action about the obstacle is due; None without one."""
        if self.obstacle is None:
            return None
        due_s = self.obstacle.next_try_s
        if not self.obstacle.unregistered and self.obstacle.is_bounded:
            due_s = min(due_s, self.obstacle.since_s + self._timeout_s)
        return max(0.0, due_s - now_s)
