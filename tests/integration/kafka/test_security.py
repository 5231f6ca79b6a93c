"""Logins and rights on a real broker with SASL and an authoriser."""

import re

import pytest

from sidecar.errors import AccessDeniedError
from sidecar.sinks.kafka.sink import KafkaSink
from sidecar.sinks.kafka.topics.access import existing_topics
from sidecar.sinks.kafka.topics.metadata import TopicCreation
from tests.support.segments.batches import message
from tests.support.servers.kafka_acl import PLAIN, SecuredBroker
from tests.support.servers.processes import DEADLINE_S
from tests.support.sinks.kafka_arrivals import assert_arrived
from tests.support.sinks.kafka_sinks import SinkFactory
from tests.support.sinks.sink_driving import Delivery

pytestmark = pytest.mark.servers


def login(user: str, password: str = "right") -> dict[str, str]:
    """In the form of the Java client."""
    return {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_jaas_config": f'{PLAIN} required username="{user}" password="{password}";',
    }


def allow(broker: SecuredBroker, topic: str, *operations: str) -> None:
    """Lets `half` do something with one topic."""
    words = " ".join(f"--operation {operation}" for operation in operations)
    broker.run_kafka_acls(
        f"kafka-acls.sh --bootstrap-server b:9092 --add --allow-principal User:half {words} "
        f"--topic {topic}"
    )


def test_the_right_login(secured_broker: SecuredBroker, make_sink: SinkFactory) -> None:
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
def test_a_wrong_login_is_rejected(
    secured_broker: SecuredBroker, make_sink: SinkFactory, settings: dict[str, str]
) -> None:
    with pytest.raises(
        AccessDeniedError, match=r"rejected the login.*kafka\.producer\.sasl"
    ) as caught:
        make_sink(secured_broker.secured, **settings)
    assert not re.search("wrong|right", str(caught.value))


def test_a_corrected_password_needs_no_restart(secured_broker: SecuredBroker) -> None:
    secured_broker.create_topic("corrected")
    servers = {"bootstrap.servers": secured_broker.secured}

    def settings(password: str) -> dict[str, str]:
        named = login("writer", password).items()
        return servers | {name.replace("_", "."): value for name, value in named}

    now = settings("wrong")
    sink = KafkaSink(now, reread=lambda: now)
    with pytest.raises(AccessDeniedError):
        sink.open()
    sink.close(0.0)
    now = settings("right")
    sink.open()
    Delivery(sink, [message("corrected", 0, 0)]).run()
    sink.close(DEADLINE_S)
    assert len(secured_broker.consume_all("corrected")) == 1


@pytest.mark.parametrize("topic", ["secured", "secured-not-there"])
def test_a_user_without_rights_is_rejected(
    secured_broker: SecuredBroker, make_sink: SinkFactory, topic: str
) -> None:
    """By the first contact already, when the broker refuses the producer's number that soon."""
    secured_broker.create_topic("secured")
    with pytest.raises(AccessDeniedError, match="denies access to this user"):
        sink = make_sink(
            secured_broker.secured, TopicCreation(), waits_when_denied=False, **login("nobody")
        )
        Delivery(sink, [message(topic, 0, 0)]).run()


def test_a_topic_that_is_rejected_to_a_user_waits_and_others_do_not(
    secured_broker: SecuredBroker, make_sink: SinkFactory
) -> None:
    """`half` may write to one topic, and describe both; then it is allowed to write to both."""
    counts = {"allowed": 3, "denied": 3}
    for topic, partitions in counts.items():
        secured_broker.create_topic(topic, partitions)
    allow(secured_broker, "allowed", "Write", "Describe")
    allow(secured_broker, "denied", "Describe")
    messages = [message(("allowed", "denied")[n % 3 == 0], n, n) for n in range(3000)]
    sink = make_sink(secured_broker.secured, **login("half"))
    delivery = Delivery(sink, messages)

    def written() -> int:
        """Events that a restart of the sink repeats count once."""
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


def test_a_survey_with_and_without_the_right_login(secured_broker: SecuredBroker) -> None:
    def found(password: str) -> dict[str, int]:
        named = login("writer", password).items()
        servers = {"bootstrap.servers": secured_broker.secured}
        settings = servers | {name.replace("_", "."): value for name, value in named}
        return dict(existing_topics(settings, DEADLINE_S))

    secured_broker.create_topic("secured")
    assert found("right")["secured"] == 1
    with pytest.raises(AccessDeniedError, match="rejected the login"):
        found("wrong")
