"""Logins and rights on a real broker with SASL and an authorizer, and the leader election of
several agents."""

import re
from collections.abc import Iterator

import pytest

from sidecar.errors import AccessDeniedError, ConfigError
from sidecar.leader_election.election import ElectionSettings, LeaderElection, group_problem
from sidecar.leader_election.role import Role
from sidecar.process.lifecycle import Stop
from sidecar.sinks.kafka.client import ClientOptions
from sidecar.sinks.kafka.sink import KafkaSink
from sidecar.sinks.kafka.topics.metadata import TopicCreation
from tests.support.segments.batches import message
from tests.support.servers.kafka_acl import PLAIN, USER, SecuredBroker, scram_login
from tests.support.servers.processes import DEADLINE_S, wait_until
from tests.support.sinks.kafka_sinks import SinkFactory
from tests.support.sinks.sink_driving import Delivery, assert_arrived

pytestmark = pytest.mark.servers


def login(user: str, password: str = "right") -> dict[str, str]:
    """Settings in the format of the Java client."""
    return {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_jaas_config": f'{PLAIN} required username="{user}" password="{password}";',
    }


def allow(broker: SecuredBroker, user: str, rights: str) -> None:
    broker.run_kafka_acls(
        "kafka-acls.sh --bootstrap-server b:9092 --add "
        f"--allow-principal User:{user} --operation {rights}"
    )


def test_valid_login_delivers_events(secured_broker: SecuredBroker, make_sink: SinkFactory) -> None:
    secured_broker.create_topic("secured")
    sink = make_sink(secured_broker.secured, TopicCreation(), **login("writer"))
    Delivery(sink, [message("secured", 0, 0), message("secured-made", 1, 0)]).run()
    assert len(secured_broker.consume_all("secured", "secured-made")) == 2


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(login("writer", "wrong"), id="password"),
        pytest.param(login("stranger"), id="user"),
        pytest.param(
            {
                "security_protocol": "SASL_PLAINTEXT",
                "sasl_mechanism": "SCRAM-SHA-512",
                "sasl_username": "writer",
                "sasl_password": "wrong",
            },
            id="mechanism",
        ),
    ],
)
def test_wrong_login_is_rejected_without_its_password(
    secured_broker: SecuredBroker, make_sink: SinkFactory, settings: dict[str, str]
) -> None:
    with pytest.raises(
        AccessDeniedError, match=r"rejected the login.*kafka\.producer\.sasl"
    ) as caught:
        make_sink(secured_broker.secured, **settings)
    assert not re.search("wrong|right", str(caught.value))


def test_sink_reopens_with_a_corrected_password(secured_broker: SecuredBroker) -> None:
    secured_broker.create_topic("corrected")
    servers = {"bootstrap.servers": secured_broker.secured}

    def settings(password: str) -> dict[str, str]:
        named = login("writer", password).items()
        return servers | {name.replace("_", "."): value for name, value in named}

    now = settings("wrong")
    sink = KafkaSink(ClientOptions(now, reread=lambda: now))
    with pytest.raises(AccessDeniedError):
        sink.open()
    sink.close(0.0)
    now = settings("right")
    sink.open()
    Delivery(sink, [message("corrected", 0, 0)]).run()
    sink.close(DEADLINE_S)
    assert len(secured_broker.consume_all("corrected")) == 1


@pytest.mark.parametrize("topic", ["secured", "secured-not-there"])
def test_user_without_rights_is_rejected(
    secured_broker: SecuredBroker, make_sink: SinkFactory, topic: str
) -> None:
    """At the first contact if the broker already denies the producer id."""
    secured_broker.create_topic("secured")
    with pytest.raises(AccessDeniedError, match="denies access to this user"):
        sink = make_sink(
            secured_broker.secured, TopicCreation(), waits_when_denied=False, **login("nobody")
        )
        Delivery(sink, [message(topic, 0, 0)]).run()


def test_denied_topic_does_not_block_other_topics(
    secured_broker: SecuredBroker, make_sink: SinkFactory
) -> None:
    """`half` can write to one topic and describe both; then it gets the right to write to both."""
    counts = {"allowed": 3, "denied": 3}
    for topic, partitions in counts.items():
        secured_broker.create_topic(topic, partitions)
    allow(secured_broker, "half", "Write --operation Describe --topic allowed")
    allow(secured_broker, "half", "Describe --topic denied")
    messages = [message(("allowed", "denied")[n % 3 == 0], n, n) for n in range(3000)]
    sink = make_sink(secured_broker.secured, **login("half"))
    delivery = Delivery(sink, messages)

    def written() -> int:
        """Count events that a restart of the sink repeats once."""
        return len({record.key for record in secured_broker.consume_all("allowed")})

    delivery.until(
        lambda: sink.state().code == "topic_access_denied" and written() == 2000,
        "the rejection, and the events that may be written",
        state=lambda: (sink.state(), delivery.restarts, delivery.answered, written()),
    )
    state = sink.state()
    assert (state.healthy, state.code, state.topics) == (True, "topic_access_denied", ("denied",))
    command = state.remedy.split("`")[1]
    assert f"--bootstrap-server {secured_broker.secured} " in command
    secured_broker.run_kafka_acls(command)
    delivery.run()
    assert (delivery.restarts, delivery.failed) == ([], {})
    assert_arrived(messages, secured_broker.consume_all(*counts), counts)
    assert sink.state().healthy


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


def wait_for(election: LeaderElection, role: Role) -> None:
    wait_until(lambda: election.role is role, f"the role {role}")


def test_newcomer_stands_by_until_the_leader_leaves(authorising: SecuredBroker, stop: Stop) -> None:
    """The first agent creates the topic."""
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


def test_fenced_leader_leaves_the_group(authorising: SecuredBroker, stop: Stop) -> None:
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


def test_stop_request_ends_the_wait_of_a_standby(authorising: SecuredBroker, stop: Stop) -> None:
    settings = settings_of(authorising, "stopped")
    with LeaderElection(settings) as leader:
        wait_for(leader, Role.LEADER)
        with LeaderElection(settings) as standby:
            wait_for(standby, Role.STANDBY)
            stop.request()
            with standby.term(stop) as term:
                assert term is None


def test_missing_election_right_is_reported_until_granted(authorising: SecuredBroker) -> None:
    authorising.create_topic("denied.position")
    allow(authorising, USER, "Describe --topic denied.position")
    settings = settings_of(authorising, "denied", is_secured=True)
    with LeaderElection(settings) as election:
        wait_until(lambda: "--operation Read --group denied" in election.error, "the right's name")
        assert election.role is Role.CANDIDATE
        allow(authorising, USER, "Read --group denied")
        wait_for(election, Role.LEADER)
        assert election.error == ""


def test_missing_election_right_ends_the_agent_if_configured(
    authorising: SecuredBroker, stop: Stop
) -> None:
    authorising.create_topic("ended.position")
    allow(authorising, USER, "Describe --topic ended.position")
    allow(authorising, USER, "Describe --group ended")
    settings = settings_of(authorising, "ended", is_secured=True, waits_when_denied=False)
    with (
        LeaderElection(settings) as election,
        pytest.raises(AccessDeniedError, match="consumer group ended"),
        election.term(stop),
    ):
        pass
    assert isinstance(asked(settings), AccessDeniedError)
    allow(authorising, USER, "Read --group ended")
    wait_until(lambda: asked(settings) is None, "the right")


def test_rejected_session_timeout_is_a_config_error(authorising: SecuredBroker, stop: Stop) -> None:
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
