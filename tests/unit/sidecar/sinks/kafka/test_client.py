"""The state of a client whose broker lacks topics, or denies access to them."""

from types import SimpleNamespace
from typing import Any, cast

from confluent_kafka import KafkaError
from hypothesis import given
from hypothesis import strategies as st

from sidecar.errors import SinkRestartError
from sidecar.sinks.kafka.client import ClientOptions, KafkaClient
from sidecar.sinks.kafka.topics.metadata import TopicMetadata
from sidecar.sinks.kafka.unavailable_topics import TopicProblem

NAMES = ("a", "b", "c", "d")
UNAVAILABLE = (
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.LEADER_NOT_AVAILABLE,
)
DENIED = TopicProblem("topic_access_denied", "the topic is denied", "Allow it.")


@given(
    answers=st.dictionaries(st.sampled_from(NAMES), st.sampled_from((None, *UNAVAILABLE))),
    rejected=st.sets(st.sampled_from(NAMES)),
    others_pass=st.booleans(),
)
def test_sink_without_writable_topic_is_unhealthy(
    answers: dict[str, int | None], rejected: set[str], others_pass: bool
) -> None:
    """`rejected` topics exist, and the broker rejects events in them."""

    def lookup(topic: str, **_: object) -> Any:
        code = answers[topic]
        error = None if code is None else KafkaError(code)
        topics = {topic: SimpleNamespace(error=error, partitions={0: None})}
        return SimpleNamespace(topics=topics, brokers={1: None})

    client = KafkaClient(
        ClientOptions({"bootstrap.servers": "k:9"}), lambda _: SinkRestartError("failed")
    )
    client._producer = cast(Any, SimpleNamespace(list_topics=lookup))
    client._topics = TopicMetadata(
        lookup, cast(Any, None), None, waits_when_denied=True, clock=lambda: 0.0
    )
    for topic in answers:
        client.partition_count(topic, 1.0)
    client.liveness.probed(True)
    denied = {topic: DENIED for topic in rejected & answers.keys()}
    unavailable = {topic for topic, code in answers.items() if code is not None} | denied.keys()
    others = answers.keys() - unavailable
    state = client.state(denied, others_pass=others_pass)
    assert set(state.topics) == unavailable
    assert state.healthy == (not unavailable or (others_pass and bool(others)))
    if unavailable:
        assert ("no event of any topic" in state.message) is not state.healthy


def test_each_connection_uses_current_settings() -> None:
    """An unusable keystore may be half written, so the settings remain."""

    def settings(password: str) -> dict[str, str]:
        return {
            "bootstrap.servers": "127.0.0.1:9",
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "cdc",
            "sasl.password": password,
        }

    now = settings("second")
    client = KafkaClient(
        ClientOptions(settings("first"), reread=lambda: now), lambda _: SinkRestartError("failed")
    )
    for change, password in (({}, "second"), ({"sasl.password": "third"}, "third")):
        now.update(change)
        client.open({})
        assert client.config["sasl.password"] == password
        assert client.connection()["sasl.password"] == password
        client.release()
    now |= {"sasl.password": "fourth", "ssl.truststore.location": "/nowhere.jks"}
    client.open({})
    assert client.config["sasl.password"] == "third"
    client.release()
