"""The election of one of several agents, on a real broker that authorizes."""

from collections.abc import Iterator

import pytest

from sidecar.errors import AccessDeniedError, ConfigError
from sidecar.process.lifecycle import Stop
from sidecar.sinks.kafka.leader_election.election import ElectionSettings, LeaderElection
from sidecar.sinks.kafka.leader_election.rights import group_problem
from sidecar.sinks.kafka.leader_election.role import Role
from sidecar.sinks.kafka.topics.metadata import TopicCreation
from tests.support.servers.kafka_acl import USER, SecuredBroker, scram_login
from tests.support.servers.processes import DEADLINE_S, wait_until

pytestmark = pytest.mark.servers

PASSWORD = "s3cret-of-agent"
SESSION_MS = 6000


@pytest.fixture(scope="module")
def authorising(secured_broker: SecuredBroker) -> SecuredBroker:
    secured_broker.set_password(PASSWORD)
    return secured_broker


@pytest.fixture
def stop() -> Iterator[Stop]:
    stop = Stop(1000)
    yield stop
    stop.close()


def settings_of(
    broker: SecuredBroker,
    group: str,
    *,
    is_secured: bool = False,
    session_timeout_ms: int = SESSION_MS,
    waits_when_denied: bool = True,
) -> ElectionSettings:
    client = {"bootstrap.servers": broker.secured if is_secured else broker.bootstrap}
    if is_secured:
        login = scram_login(PASSWORD)
        client |= {name.removeprefix("kafka.producer."): value for name, value in login.items()}
    return ElectionSettings(
        client, group, f"{group}.position", session_timeout_ms, TopicCreation(), waits_when_denied
    )


def allow(broker: SecuredBroker, right: str) -> None:
    broker.run_kafka_acls(
        "kafka-acls.sh --bootstrap-server b:9092 --add "
        f"--allow-principal User:{USER} --operation {right}"
    )


def wait_for(election: LeaderElection, role: Role) -> None:
    wait_until(lambda: election.role is role, f"the role {role}")


def test_a_newcomer_stands_by_until_the_leader_leaves(
    authorising: SecuredBroker, stop: Stop
) -> None:
    """With the topic that the first one creates."""
    settings = settings_of(authorising, "newcomer")
    with LeaderElection(settings) as second:
        wait_for(second, Role.LEADER)
        with LeaderElection(settings) as newcomer:
            wait_for(newcomer, Role.STANDBY)
            with second.term(stop) as term:
                assert term is not None
                assert not term.stop.requested
            assert second.role is Role.LEADER
        with LeaderElection(settings) as newcomer:
            wait_for(newcomer, Role.STANDBY)
            second.__exit__()
            wait_for(newcomer, Role.LEADER)


def test_a_fenced_leader_leaves_the_group(authorising: SecuredBroker, stop: Stop) -> None:
    settings = settings_of(authorising, "fenced")
    with LeaderElection(settings) as first, first.term(stop) as term:
        assert term is not None
        with LeaderElection(settings) as second:
            wait_for(second, Role.STANDBY)
            first.fenced(term)
            assert term.stop.requested
            assert not stop.requested
            wait_for(second, Role.LEADER)
            wait_for(first, Role.STANDBY)


def test_a_request_to_stop_ends_the_wait(authorising: SecuredBroker, stop: Stop) -> None:
    settings = settings_of(authorising, "stopped")
    with LeaderElection(settings) as leader:
        wait_for(leader, Role.LEADER)
        with LeaderElection(settings) as standby:
            wait_for(standby, Role.STANDBY)
            stop.request()
            with standby.term(stop) as term:
                assert term is None


def test_a_missing_right_is_reported_until_it_is_granted(authorising: SecuredBroker) -> None:
    authorising.create_topic("denied.position")
    allow(authorising, "Describe --topic denied.position")
    settings = settings_of(authorising, "denied", is_secured=True)
    with LeaderElection(settings) as election:
        wait_until(lambda: "--operation Read --group denied" in election.error, "the right's name")
        assert election.role is Role.CANDIDATE
        allow(authorising, "Read --group denied")
        wait_for(election, Role.LEADER)
        assert election.error == ""


def test_a_missing_right_ends_an_agent_that_does_not_wait(
    authorising: SecuredBroker, stop: Stop
) -> None:
    authorising.create_topic("ended.position")
    allow(authorising, "Describe --topic ended.position")
    allow(authorising, "Describe --group ended")
    settings = settings_of(authorising, "ended", is_secured=True, waits_when_denied=False)
    with (
        LeaderElection(settings) as election,
        pytest.raises(AccessDeniedError, match="consumer group ended"),
        election.term(stop),
    ):
        pass
    assert isinstance(asked(settings), AccessDeniedError)
    allow(authorising, "Read --group ended")
    wait_until(lambda: asked(settings) is None, "the right")


def test_a_session_that_the_broker_rejects(authorising: SecuredBroker, stop: Stop) -> None:
    settings = settings_of(authorising, "short", session_timeout_ms=3000)
    with (
        LeaderElection(settings) as election,
        pytest.raises(ConfigError, match=r"standby\.session\.timeout\.ms` is 3000"),
        election.term(stop),
    ):
        pass
    assert "allow 6000 to 1800000" in str(asked(settings))


def asked(settings: ElectionSettings) -> Exception | None:
    return group_problem(settings.client, settings.group, settings.session_timeout_ms, DEADLINE_S)
