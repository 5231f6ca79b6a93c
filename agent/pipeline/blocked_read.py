"""Holding a segment whose next record cannot be read for now.

A record of an unknown table or column waits for the schema, one whose events have no schema id yet
for the registry; an encrypted file waits for its key. They wait for a bounded time, and then
what cannot be read is given up: the range is put on record and its segment is quarantined. A file
that the environment refuses (a permission, the disk, the mount) is waited for without end.
"""

import math
from dataclasses import dataclass, replace
from enum import Enum, auto

from agent.cdc_raw import SegmentName
from agent.pipeline.reader import Blocked
from commitlog import Schema, Unregistered
from sidecar.schema_registry import Registration, RegistrationStatus

_RETRY_S = 1.0
_ASK_AGAIN_S = 60.0
_NOBODY = Registration(RegistrationStatus.PENDING)


@dataclass(frozen=True, slots=True)
class Missing:
    """What a record needs and the schema lacks."""

    table_id: str
    column: str | None


@dataclass(frozen=True, slots=True)
class Obstacle:
    """One segment that is held."""

    name: SegmentName
    position: int
    """End of the record, or where the file cannot be read on."""
    missing: Missing | None
    """None: the file itself cannot be read."""
    sentence: str
    schema: Schema
    """The schema that lacks it."""
    since_s: float
    next_try_s: float
    unregistered: tuple[Unregistered, ...] = ()
    """Schemas of Avro that a registry has no ids for yet; then the schema lacks nothing."""
    refused_since_s: float | None = None
    """Since when the registry refuses one of them."""
    is_again: bool = False
    """They were refused and given up before, and the registry is asked once more."""
    is_asked: bool = False
    """It has been asked since the hold began."""
    is_bounded: bool = True
    """False: it is never given up."""

    def is_of(self, other: "Obstacle") -> bool:
        """True when both are about the same obstacle, so that its time goes on."""
        return (self.name, self.position, self.missing) == (
            other.name,
            other.position,
            other.missing,
        )


class Step(Enum):
    """What to do about an obstacle."""

    WAIT = auto()
    ASK = auto()
    """Ask for a newer schema."""
    REGISTER = auto()
    """Ask a registry for ids."""
    READ = auto()
    """Read on: something changed, or it is time to try."""
    GIVE_UP = auto()


class BlockedRead:
    """The hold that goes on, and what was given up. Pure: times come from outside, in seconds.

    Tables and columns that were waited for in vain are passed over at once from then on, as many
    of their records in one read as it meets: one dropped table must not hold every record anew.
    When the schema learns them they are read again. A registry that refused a table's schemas is
    asked again each minute that brings a record of it, since somebody may have changed its mind;
    refusing still, it holds nothing.
    """

    def __init__(self, hold_max_s: float) -> None:
        self._hold_max_s = hold_max_s
        self._last: Obstacle | None = None
        self._given_up: dict[Missing, float | None] = {}
        """With the time at which a registry is asked again; None: the schema has to learn them."""
        self.obstacle: Obstacle | None = None

    def given_up(self, now_s: float) -> tuple[tuple[str, str | None], ...]:
        """Tables and columns that are not waited for, as a reader takes them."""
        return tuple(
            (missing.table_id, missing.column)
            for missing, again_s in self._given_up.items()
            if again_s is None or now_s < again_s
        )

    def ask_again(self) -> None:
        """Somebody says that causes are gone: registries are asked with the next record."""
        for missing, again_s in self._given_up.items():
            if again_s is not None:
                self._given_up[missing] = -math.inf

    def begin_blocked(
        self, name: SegmentName, blocked: Blocked, schema: Schema, now_s: float
    ) -> Obstacle:
        """Waits for a table or a column; it is asked for at once."""
        missing = _missing(blocked)
        obstacle = Obstacle(
            name,
            blocked.position,
            missing,
            blocked.reason,
            schema,
            now_s,
            now_s,
            tuple(blocked.unregistered),
            is_again=missing in self._given_up,
        )
        return self._begin(obstacle, now_s)

    def begin_failed(
        self,
        name: SegmentName,
        position: int,
        sentence: str,
        schema: Schema,
        now_s: float,
        *,
        is_bounded: bool = True,
    ) -> Obstacle:
        """Waits for a file that cannot be read; without end where it is not bounded."""
        obstacle = Obstacle(
            name,
            position,
            None,
            sentence,
            schema,
            now_s,
            now_s + _RETRY_S,
            is_bounded=is_bounded,
        )
        return self._begin(obstacle, now_s)

    def step(self, schema: Schema | None, now_s: float, answer: Registration = _NOBODY) -> Step:
        """What to do now; `schema` is the one that is known now, `answer` what a registry says of
        the schemas that are waited for."""
        obstacle = self.obstacle
        if obstacle is None:
            return Step.WAIT
        if obstacle.missing is not None and schema is not None and schema is not obstacle.schema:
            return Step.READ
        if obstacle.unregistered:
            return self._registry_step(obstacle, answer, now_s)
        is_asked = obstacle.next_try_s > obstacle.since_s
        is_over = obstacle.is_bounded and now_s - obstacle.since_s >= self._hold_max_s
        if is_asked and is_over:
            return Step.GIVE_UP
        if now_s < obstacle.next_try_s:
            return Step.WAIT
        return Step.READ if obstacle.missing is None else Step.ASK

    def _registry_step(self, obstacle: Obstacle, answer: Registration, now_s: float) -> Step:
        """A registry that is away is waited for without end; one that refuses a schema for the
        whole bounded time, since somebody may change its mind."""
        if answer.status is RegistrationStatus.REGISTERED:
            if obstacle.missing is not None:
                self._given_up.pop(obstacle.missing, None)
            return Step.READ
        if answer.error:
            obstacle = self.obstacle = replace(obstacle, sentence=answer.error)
        if answer.status is not RegistrationStatus.REJECTED:
            obstacle = self.obstacle = replace(obstacle, refused_since_s=None)
        elif obstacle.is_again and obstacle.is_asked:
            return Step.GIVE_UP
        elif obstacle.refused_since_s is None:
            obstacle = self.obstacle = replace(obstacle, refused_since_s=now_s)
        elif now_s - obstacle.refused_since_s >= self._hold_max_s:
            return Step.GIVE_UP
        return Step.WAIT if now_s < obstacle.next_try_s else Step.REGISTER

    def asked(self, now_s: float) -> None:
        """The next question waits."""
        if self.obstacle is not None:
            self.obstacle = replace(self.obstacle, next_try_s=now_s + _RETRY_S, is_asked=True)

    def end(self) -> None:
        """Reading goes on; the same obstacle would go on with its time."""
        self._last, self.obstacle = self.obstacle, None

    def give_up(self, now_s: float) -> None:
        """The hold has lasted too long."""
        obstacle, self.obstacle, self._last = self.obstacle, None, None
        if obstacle is not None and obstacle.missing is not None:
            self._given_up[obstacle.missing] = (
                now_s + _ASK_AGAIN_S if obstacle.unregistered else None
            )

    def due_in_s(self, now_s: float) -> float | None:
        """When something is to be done about the hold; None without one."""
        if self.obstacle is None:
            return None
        due_s = self.obstacle.next_try_s
        if not self.obstacle.unregistered and self.obstacle.is_bounded:
            due_s = min(due_s, self.obstacle.since_s + self._hold_max_s)
        return max(0.0, due_s - now_s)

    def _begin(self, obstacle: Obstacle, now_s: float) -> Obstacle:
        if self._last is not None and self._last.is_of(obstacle):
            obstacle = replace(obstacle, since_s=self._last.since_s)
        self.obstacle = obstacle
        return obstacle


def _missing(blocked: Blocked) -> Missing:
    return Missing(blocked.table_id, blocked.column)
