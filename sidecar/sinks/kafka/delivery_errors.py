"""Error codes of the Kafka client by their consequence for delivery, and their messages.

Messages about TLS failures come from `sidecar.tls.failures`.
"""

import re

from confluent_kafka import KafkaError

from sidecar.dead_letters.dead_letter import TOO_LARGE_REMEDY
from sidecar.errors import AccessDeniedError
from sidecar.tls.failures import TlsServer, tls_failure

AUTHENTICATION = frozenset(
    {
        KafkaError._AUTHENTICATION,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.UNSUPPORTED_SASL_MECHANISM,
        KafkaError.ILLEGAL_SASL_STATE,
    }
)
AUTHORISATION = frozenset(
    {
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    }
)
EVENT_REJECTED = frozenset(
    {
        KafkaError.INVALID_MSG_SIZE,
        KafkaError.POLICY_VIOLATION,
        KafkaError.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        KafkaError._BAD_MSG,
        KafkaError._INVALID_ARG,
    }
)
"""The broker, or the client itself, will never accept this event."""
TOPIC_UNKNOWN = frozenset(
    {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION,
    }
)
"""The topic or partition was deleted. Events of other topics can be written."""
MESSAGE_TOO_LARGE = frozenset({KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE})
BATCH_REJECTED = MESSAGE_TOO_LARGE | {
    KafkaError.INVALID_RECORD,
    KafkaError._INVALID_DIFFERENT_RECORD,
}
"""The broker rejected the batch of the event; the event itself may be valid.

INVALID_RECORD: the client reports it for all messages of a batch with one invalid message, and
instead of INVALID_TIMESTAMP for several. It describes a message only if it was alone in its batch.
"""


def denied_access(error: KafkaError, subject: str) -> AccessDeniedError | None:
    """Return the error to raise if `error` concerns authentication or authorization, else None."""
    if error.code() in AUTHENTICATION:
        return AccessDeniedError(
            f"{subject} rejected the login: {reason(error)}. Check kafka.producer.sasl.* "
            "(mechanism, user name, password)."
        )
    if error.code() in AUTHORISATION:
        return AccessDeniedError(
            f"{subject} denies access to this user: {reason(error)}. Allow it to write and "
            "describe the topics, and to create them if topic.creation.enable=true."
        )
    return None


_TLS = TlsServer(
    name="the broker",
    address="bootstrap.servers",
    trusted="kafka.producer.ssl.truststore.location",
    identity="kafka.producer.ssl.keystore.location",
    protocols="ssl.enabled.protocols",
    hostname_check="kafka.producer.ssl.endpoint.identification.algorithm to an empty value",
    enabled="kafka.producer.security.protocol",
)
_ENDED_HANDSHAKE = re.compile(r"Disconnected: .*\(after \d+ms in state SSL_HANDSHAKE\)")


def is_clock_skew(error: KafkaError) -> bool:
    """Whether the broker rejects the timestamp of a message, which is this machine's time.

    In that case all events fail, so they are retried and not stored as dead letters.
    """
    return error.code() == KafkaError.INVALID_TIMESTAMP


def reason(error: KafkaError) -> str:
    """Return the client's message without its full stop. TLS errors are reworded, because the
    client mentions its own properties."""
    text = error.str().rstrip(". \n")
    if is_clock_skew(error):
        return f"{text}; check the clock of this machine (message.timestamp.after.max.ms)"
    if "SSL " in text and (clause := tls_failure(text, _TLS)) is not None:
        return clause
    if _ENDED_HANDSHAKE.search(text):
        return (
            "the broker closed the connection in the TLS handshake, as a listener without TLS "
            "does: check kafka.producer.security.protocol"
        )
    return text


def rejection(error: KafkaError) -> str:
    """Return why an event is never accepted, with a remedy if it is too large."""
    text = reason(error)
    return f"{text}; {TOO_LARGE_REMEDY}" if error.code() in MESSAGE_TOO_LARGE else text
