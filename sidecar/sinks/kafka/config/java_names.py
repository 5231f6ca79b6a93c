"""Names of producer settings: the names of the Java producer, and names that librdkafka adds.

Both kinds are accepted under `kafka.producer.`. The Java names come from
`org.apache.kafka.clients.producer.ProducerConfig`.
"""

from collections.abc import Mapping
from types import MappingProxyType

PREFIX = "kafka.producer."


def names(text: str) -> frozenset[str]:
    return frozenset(text.split())


SAME = names(
    """
    batch.size bootstrap.servers client.dns.lookup client.id compression.type
    connections.max.idle.ms delivery.timeout.ms enable.idempotence enable.metrics.push linger.ms
    max.in.flight.requests.per.connection metadata.recovery.rebootstrap.trigger.ms
    metadata.recovery.strategy reconnect.backoff.max.ms reconnect.backoff.ms request.timeout.ms
    retries retry.backoff.max.ms retry.backoff.ms sasl.kerberos.kinit.cmd
    sasl.kerberos.min.time.before.relogin sasl.kerberos.service.name sasl.mechanism
    sasl.oauthbearer.sub.claim.name sasl.oauthbearer.token.endpoint.url security.protocol
    socket.connection.setup.timeout.ms ssl.cipher.suites ssl.key.password transaction.timeout.ms
    """
)
"""Java names that mean the same in librdkafka."""

RENAMED: Mapping[str, str] = MappingProxyType(
    {
        "compression.gzip.level": "compression.level",
        "compression.lz4.level": "compression.level",
        "compression.zstd.level": "compression.level",
        "max.request.size": "message.max.bytes",
        "metadata.max.age.ms": "topic.metadata.refresh.interval.ms",
        "ssl.keystore.certificate.chain": "ssl.certificate.pem",
        "ssl.keystore.key": "ssl.key.pem",
        "ssl.truststore.certificates": "ssl.ca.pem",
    }
)
"""Java names of settings that have a different name in librdkafka."""

ALIASES: Mapping[str, str] = {
    **RENAMED,
    "acks": "request.required.acks",
    "bootstrap.servers": "metadata.broker.list",
    "buffer.memory": "queue.buffering.max.kbytes",
    "compression.type": "compression.codec",
    "delivery.timeout.ms": "message.timeout.ms",
    "linger.ms": "queue.buffering.max.ms",
    "max.in.flight.requests.per.connection": "max.in.flight",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "retries": "message.send.max.retries",
    "sasl.mechanism": "sasl.mechanisms",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "ssl.truststore.location": "ssl.ca.location",
    "ssl.keystore.location": "ssl.key.location",
}
"""The client's names of settings whose Java names differ."""

TRANSLATED = names(
    """
    acks buffer.memory receive.buffer.bytes sasl.jaas.config send.buffer.bytes
    ssl.endpoint.identification.algorithm ssl.keystore.location ssl.keystore.password
    ssl.keystore.type ssl.truststore.location ssl.truststore.password ssl.truststore.type
    """
)
"""Java names whose value needs translation."""

_JVM = "only the Java client supports it"
_WINDOW = "`inflight.max.events` and `inflight.max.bytes` limit the events in flight"

INERT: Mapping[str, str] = MappingProxyType(
    {
        "auto.include.jmx.reporter": _JVM,
        "key.serializer": "events are already bytes",
        "max.block.ms": f"sending never blocks; {_WINDOW}",
        "metadata.max.idle.ms": _JVM,
        "metric.reporters": "metrics are served on `http.port`",
        "metrics.num.samples": "metrics are served on `http.port`",
        "metrics.recording.level": "metrics are served on `http.port`",
        "metrics.sample.window.ms": "metrics are served on `http.port`",
        "partitioner.adaptive.partitioning.enable": "the partition key decides the partition",
        "partitioner.availability.timeout.ms": "the partition key decides the partition",
        "partitioner.class": "the partition key decides the partition",
        "partitioner.ignore.keys": "the partition key decides the partition",
        "sasl.kerberos.ticket.renew.jitter": _JVM,
        "sasl.kerberos.ticket.renew.window.factor": _JVM,
        "security.providers": _JVM,
        "socket.connection.setup.timeout.max.ms": _JVM,
        "ssl.enabled.protocols": "the TLS library decides",
        "ssl.keymanager.algorithm": _JVM,
        "ssl.protocol": "the TLS library decides",
        "ssl.provider": _JVM,
        "ssl.secure.random.implementation": _JVM,
        "ssl.trustmanager.algorithm": _JVM,
        "value.serializer": "events are already bytes",
    }
)
"""Java names that have no effect here, with the reason."""

_NO_CLASSES = "Java classes are not supported"

UNSUPPORTED: Mapping[str, str] = MappingProxyType(
    {
        "interceptor.classes": _NO_CLASSES,
        "sasl.client.callback.handler.class": _NO_CLASSES,
        "sasl.login.callback.handler.class": _NO_CLASSES,
        "sasl.login.class": _NO_CLASSES,
        "ssl.engine.factory.class": _NO_CLASSES,
        "transaction.two.phase.commit.enable": "transactions end with their process",
        "transactional.id": "with `position.store=kafka` it is derived from the logical name",
    }
)
"""Java names of features that this sink does not support, with the reason."""

LIBRDKAFKA = names(
    """
    api.version.request.timeout.ms batch.num.messages broker.address.family broker.address.ttl
    client.rack compression.codec compression.level debug enable.gapless.guarantee
    enable.ssl.certificate.verification https.ca.location https.ca.pem max.in.flight
    message.copy.max.bytes message.max.bytes message.send.max.retries message.timeout.ms
    queue.buffering.backpressure.threshold queue.buffering.max.kbytes
    queue.buffering.max.messages queue.buffering.max.ms receive.message.max.bytes
    reconnect.backoff.jitter.ms sasl.kerberos.keytab sasl.kerberos.principal sasl.mechanisms
    sasl.oauthbearer.assertion.algorithm sasl.oauthbearer.assertion.claim.aud
    sasl.oauthbearer.assertion.claim.exp.seconds sasl.oauthbearer.assertion.claim.iss
    sasl.oauthbearer.assertion.claim.jti.include sasl.oauthbearer.assertion.claim.nbf.seconds
    sasl.oauthbearer.assertion.claim.sub sasl.oauthbearer.assertion.file
    sasl.oauthbearer.assertion.jwt.template.file sasl.oauthbearer.assertion.private.key.file
    sasl.oauthbearer.assertion.private.key.passphrase
    sasl.oauthbearer.assertion.private.key.pem sasl.oauthbearer.client.id
    sasl.oauthbearer.client.secret sasl.oauthbearer.config sasl.oauthbearer.extensions
    sasl.oauthbearer.grant.type sasl.oauthbearer.method sasl.oauthbearer.scope sasl.password
    sasl.username socket.keepalive.enable socket.max.fails socket.nagle.disable
    socket.receive.buffer.bytes socket.send.buffer.bytes socket.timeout.ms ssl.ca.location
    ssl.ca.pem ssl.certificate.location ssl.certificate.pem ssl.crl.location ssl.curves.list
    ssl.key.location ssl.key.pem ssl.sigalgs.list statistics.interval.ms
    topic.metadata.propagation.max.ms topic.metadata.refresh.fast.interval.ms
    topic.metadata.refresh.interval.ms topic.metadata.refresh.sparse
    """
)
"""librdkafka's own names that a producer may use."""

KNOWN = SAME | RENAMED.keys() | TRANSLATED | INERT.keys() | UNSUPPORTED.keys() | LIBRDKAFKA
