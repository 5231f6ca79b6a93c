"""The status of an agent without a pipeline, because another member of its group leads."""

from dataclasses import dataclass
from typing import cast

import pytest

from mongo_agent.metrics import MongoMetrics
from mongo_agent.status.view import MongoStatus
from sidecar.leader_election.election import LeaderElection
from sidecar.leader_election.role import Role
from sidecar.metrics import DeliveryMetrics

STANDBY = "Standby: another agent of the group g delivers."


@dataclass(frozen=True)
class Member:
    """The part of an election that the status reads."""

    role: Role
    error: str = ""
    group: str = "g"


def status_of(member: Member) -> MongoStatus:
    status = MongoStatus("1.2.3", MongoMetrics(DeliveryMetrics("mongo", "1.2.3")), 500)
    status.election = cast(LeaderElection, member)
    return status


@pytest.mark.parametrize(
    ("member", "is_ready", "message"),
    [
        (Member(Role.STANDBY), True, STANDBY),
        (Member(Role.CANDIDATE), False, "starting"),
        (Member(Role.CANDIDATE, "No broker answers."), False, "No broker answers."),
        (Member(Role.LEADER), False, "starting"),
    ],
)
def test_readiness_message_contains_reason(member: Member, is_ready: bool, message: str) -> None:
    ready = status_of(member).ready()
    assert (ready.ok, ready.message) == (is_ready, message)


def test_standby_pipeline_component_is_on_standby() -> None:
    found = {
        each.name: each.message for each in status_of(Member(Role.STANDBY)).health().components
    }
    assert found["pipeline"] == STANDBY
