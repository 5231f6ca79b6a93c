"""Logins and rights on a real broker with SASL and an authoriser."""

from collections.abc import Iterator

import pytest
from confluent_kafka.admin._acl import AclBinding, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType

from sidecar.errors import AccessDeniedError
from sidecar.sinks.kafka.topics.access import existing_topics
from sidecar.sinks.kafka.topics.metadata import TopicCreation
from tests.support.segments.batches import message
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.kafka_acl import grant
from tests.support.servers.processes import free_port
from tests.support.sinks.kafka_arrivals import assert_arrived
from tests.support.sinks.kafka_sinks import SinkFactory
from tests.support.sinks.sink_driving import Delivery

pytestmark = pytest.mark.servers

_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


class SecuredBroker(KafkaBroker):
    """Has a second listener that wants a login. `writer` may do all, `nobody` may do nothing."""

    def __init__(self, *arguments: object, **options: object) -> None:
        super().__init__(*arguments, **options)  # type: ignore[arg-type]
        self.secured_port = free_port()

    @property
    def secured(self) -> str:
        return f"127.0.0.1:{self.secured_port}"

    def allow(self, user: str, topic: str, *operations: AclOperation) -> None:
        """Lets a user do something with one topic."""
        wanted = [
            AclBinding(
                ResourceType.TOPIC,
                topic,
                ResourcePatternType.LITERAL,
                f"User:{user}",
                "*",
                operation,
                AclPermissionType.ALLOW,
            )
            for operation in operations
        ]
        grant(self, wanted)

    def _server_properties(self) -> str:
        plain, secured = f"PLAINTEXT://{self.bootstrap}", f"SASL_PLAINTEXT://{self.secured}"
        properties = {
            "listeners": f"{plain},{secured},CONTROLLER://127.0.0.1:{self.controller_port}",
            "advertised.listeners": f"{plain},{secured}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,"
            "SASL_PLAINTEXT:SASL_PLAINTEXT",
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.sasl_plaintext.plain.sasl.jaas.config": f"{_LOGIN} required "
            'user_writer="right" user_nobody="right" user_half="right";',
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS;User:writer",
        }
        return super()._server_properties() + "".join(f"{n}={v}\n" for n, v in properties.items())


@pytest.fixture(scope="module")
def secured_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    with SecuredBroker(tmp_path_factory.mktemp("secured"), heap_mib=256) as broker:
        broker.create_topic("secured", 1)
        yield broker


def login(user: str, password: str) -> dict[str, str]:
    """In the form of the Java client."""
    return {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_jaas_config": f'{_LOGIN} required username="{user}" password="{password}";',
    }


def test_the_right_login(secured_broker: SecuredBroker, make_sink: SinkFactory) -> None:
    sink = make_sink(secured_broker.secured, TopicCreation(), **login("writer", "right"))
    Delivery(sink, [message("secured", 0, 0), message("secured-made", 1, 0)]).run()
    assert len(secured_broker.consume_all("secured", "secured-made")) == 2


@pytest.mark.parametrize(("user", "password"), [("writer", "wrong"), ("stranger", "right")])
def test_a_wrong_login_is_rejected(
    secured_broker: SecuredBroker, make_sink: SinkFactory, user: str, password: str
) -> None:
    with pytest.raises(
        AccessDeniedError, match=r"rejected the login.*kafka\.producer\.sasl"
    ) as caught:
        make_sink(secured_broker.secured, **login(user, password))
    assert password not in str(caught.value).replace("password)", "")


def test_a_mechanism_that_the_broker_lacks_is_rejected(
    secured_broker: SecuredBroker, make_sink: SinkFactory
) -> None:
    with pytest.raises(AccessDeniedError, match="rejected the login"):
        make_sink(
            secured_broker.secured,
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="SCRAM-SHA-256",
            sasl_username="writer",
            sasl_password="right",
        )


@pytest.mark.parametrize("topic", ["secured", "secured-not-there"])
def test_a_user_without_rights_is_rejected(
    secured_broker: SecuredBroker, make_sink: SinkFactory, topic: str
) -> None:
    """By the first contact already, when the broker refuses the producer's number that soon."""
    with pytest.raises(AccessDeniedError, match="denies access to this user"):
        sink = make_sink(
            secured_broker.secured,
            TopicCreation(),
            waits_when_denied=False,
            **login("nobody", "right"),
        )
        Delivery(sink, [message(topic, 0, 0)]).run()


def test_a_topic_that_is_rejected_to_a_user_waits_and_others_do_not(
    secured_broker: SecuredBroker, make_sink: SinkFactory
) -> None:
    """`half` may write to one topic, and describe both; then it is allowed to write to both."""
    for topic in ("allowed", "denied"):
        secured_broker.create_topic(topic, 3)
    secured_broker.allow("half", "allowed", AclOperation.WRITE, AclOperation.DESCRIBE)
    secured_broker.allow("half", "denied", AclOperation.DESCRIBE)
    messages = [message(("allowed", "denied")[n % 3 == 0], n, n) for n in range(3000)]
    sink = make_sink(secured_broker.secured, **login("half", "right"))
    delivery = Delivery(sink, messages)
    first = [each for each in messages if each[0] == "allowed"]
    delivery.until(
        lambda: (
            sink.state().code == "topic_access_denied"
            and len(secured_broker.consume_all("allowed")) == len(first)
        ),
        "the rejection, and the events that may be written",
    )
    state = sink.state()
    assert (state.healthy, state.code, state.topics) == (True, "topic_access_denied", ("denied",))
    assert "kafka-acls --add" in state.remedy
    secured_broker.allow("half", "denied", AclOperation.WRITE)
    delivery.run()
    assert (delivery.restarts, delivery.failed) == ([], {})
    counts = {"allowed": 3, "denied": 3}
    assert_arrived(messages, secured_broker.consume_all(*counts), counts)
    assert sink.state().healthy


def test_a_survey_with_and_without_the_right_login(secured_broker: SecuredBroker) -> None:
    def settings(password: str) -> dict[str, str]:
        named = login("writer", password).items()
        servers = {"bootstrap.servers": secured_broker.secured}
        return servers | {name.replace("_", "."): value for name, value in named}

    assert existing_topics(settings("right"), 60)["secured"] == 1
    with pytest.raises(AccessDeniedError, match="rejected the login"):
        existing_topics(settings("wrong"), 60)
