"""The role of an agent in its consumer group. Pure.

The owner of partition 0 of the position topic is the leader. Every other member stands by.

    CANDIDATE ──assigned──► STANDBY ◄──revoked── LEADER
        ▲                      └──assigned 0──────►┘
        └─────────── session lost, fenced ─────────┘
"""

from dataclasses import dataclass, replace
from enum import StrEnum

LEADER_PARTITION = 0


class Role(StrEnum):
    CANDIDATE = "candidate"
    """No member of the group: before the first assignment, or without a session."""
    STANDBY = "standby"
    """A member; another one leads."""
    LEADER = "leader"


@dataclass(frozen=True, slots=True)
class Assigned:
    """The group added partitions, perhaps none; it tells every member after each rebalance."""

    partitions: frozenset[int]


@dataclass(frozen=True, slots=True)
class Revoked:
    """The group took partitions away; the agent remains a member."""

    partitions: frozenset[int]


@dataclass(frozen=True, slots=True)
class SessionLost:
    """The group has removed the agent, or its coordinator did not answer within the session."""


@dataclass(frozen=True, slots=True)
class Fenced:
    """Another producer took over the transactional id during this term."""

    term: int


GroupEvent = Assigned | Revoked | SessionLost | Fenced


@dataclass(frozen=True, slots=True)
class Membership:
    role: Role = Role.CANDIDATE
    term: int = 0
    """Counts how often this agent became the leader."""
    must_rejoin: bool = False
    """Whether the agent has to leave the group and join again."""


def after(before: Membership, event: GroupEvent) -> Membership:
    """The membership after an event.

    A fenced leader leaves the group: if its session is still valid, the group then elects again.
    """
    match event:
        case Assigned(partitions):
            if before.role is Role.LEADER or before.must_rejoin:
                return before
            if LEADER_PARTITION in partitions:
                return Membership(Role.LEADER, before.term + 1)
            return replace(before, role=Role.STANDBY)
        case Revoked(partitions):
            if before.role is Role.LEADER and LEADER_PARTITION in partitions:
                return replace(before, role=Role.STANDBY)
        case SessionLost():
            return Membership(Role.CANDIDATE, before.term)
        case Fenced(term):
            if before.role is Role.LEADER and before.term == term:
                return Membership(Role.CANDIDATE, before.term, must_rejoin=True)
    return before
