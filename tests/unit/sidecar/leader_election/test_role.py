"""Group events of assignment and fencing, and the resulting role."""

import random

import pytest

from sidecar.leader_election.role import (
    Assigned,
    Fenced,
    GroupEvent,
    Membership,
    Revoked,
    Role,
    SessionLost,
    after,
)
from tests.support.seeds import draw_seed

NONE: frozenset[int] = frozenset()
FIRST, OTHER, BOTH = frozenset({0}), frozenset({1, 2}), frozenset({0, 1})
CANDIDATE, STANDBY, LEADER = (Membership(role, 3) for role in Role)


@pytest.mark.parametrize(
    ("before", "event", "expected"),
    [
        (CANDIDATE, Assigned(NONE), STANDBY),
        (CANDIDATE, Assigned(OTHER), STANDBY),
        (CANDIDATE, Assigned(FIRST), Membership(Role.LEADER, 4)),
        (STANDBY, Assigned(BOTH), Membership(Role.LEADER, 4)),
        (STANDBY, Assigned(NONE), STANDBY),
        # A rebalance without changes starts no new term.
        (LEADER, Assigned(NONE), LEADER),
        (LEADER, Assigned(OTHER), LEADER),
        (LEADER, Revoked(OTHER), LEADER),
        (LEADER, Revoked(FIRST), STANDBY),
        (STANDBY, Revoked(OTHER), STANDBY),
        (CANDIDATE, Revoked(FIRST), CANDIDATE),
        (LEADER, SessionLost(), CANDIDATE),
        (STANDBY, SessionLost(), CANDIDATE),
        (LEADER, Fenced(3), Membership(Role.CANDIDATE, 3, must_rejoin=True)),
        # The fence of an older term, which the group has ended already.
        (LEADER, Fenced(2), LEADER),
        (STANDBY, Fenced(3), STANDBY),
        (CANDIDATE, Fenced(3), CANDIDATE),
    ],
)
def test_group_event_decides_the_role(
    before: Membership, event: GroupEvent, expected: Membership
) -> None:
    assert after(before, event) == expected


def test_fenced_leader_must_leave_group_before_leading_again() -> None:
    fenced = after(LEADER, Fenced(3))
    assert after(fenced, Assigned(FIRST)) == fenced
    left = after(fenced, SessionLost())
    assert left == CANDIDATE
    assert after(left, Assigned(FIRST)) == Membership(Role.LEADER, 4)


def test_only_the_owner_of_the_first_partition_leads() -> None:
    """A leader always owns partition 0, and each term has a unique number."""
    seed = draw_seed()
    chance = random.Random(seed)
    membership, owns, terms = Membership(), False, [0]
    for _ in range(5000):
        partitions = chance.choice((NONE, FIRST, OTHER, BOTH))
        event = chance.choice(
            (
                Assigned(partitions),
                Revoked(partitions),
                SessionLost(),
                Fenced(chance.choice((membership.term, membership.term - 1))),
            )
        )
        match event:
            case Assigned():
                owns = owns or 0 in partitions
            case Revoked():
                owns = owns and 0 not in partitions
            case SessionLost():
                owns = False
        before, membership = membership, after(membership, event)
        assert owns or membership.role is not Role.LEADER
        if membership.role is Role.LEADER and before.role is not Role.LEADER:
            terms.append(membership.term)
    assert terms == list(range(len(terms)))
