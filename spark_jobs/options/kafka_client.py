"""Checks of settings for Kafka's Java client."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_MECHANISMS = ("GSSAPI", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
_KNOWN_NAMES = """
    acks batch.size bootstrap.servers buffer.memory client.dns.lookup client.id compression.type
    connections.max.idle.ms default.api.timeout.ms delivery.timeout.ms enable.idempotence
    fetch.max.bytes fetch.max.wait.ms fetch.min.bytes isolation.level linger.ms max.block.ms
    max.in.flight.requests.per.connection max.partition.fetch.bytes max.poll.interval.ms
    max.poll.records max.request.size metadata.max.age.ms receive.buffer.bytes
    reconnect.backoff.max.ms reconnect.backoff.ms request.timeout.ms retries retry.backoff.ms
    sasl.client.callback.handler.class sasl.jaas.config sasl.kerberos.service.name
    sasl.login.callback.handler.class sasl.mechanism sasl.oauthbearer.token.endpoint.url
    security.protocol send.buffer.bytes session.timeout.ms ssl.endpoint.identification.algorithm
    ssl.key.password ssl.keystore.key ssl.keystore.location ssl.keystore.password ssl.keystore.type
    ssl.truststore.certificates ssl.truststore.location ssl.truststore.password ssl.truststore.type
"""
_NAMES = frozenset(_KNOWN_NAMES.split())
"""Settings of Kafka's Java clients that are easily misspelled."""


def kafka_problems(prefix: str, settings: Mapping[str, str]) -> Iterator[str]:
    """An error for each security setting that Kafka's Java client would reject or ignore.

    `prefix` is the prefix of the options, such as `kafka.`.
    """
    protocol, mechanism = settings.get("security.protocol"), settings.get("sasl.mechanism")
    if protocol is not None and protocol.strip().upper() not in _PROTOCOLS:
        yield (
            f"`{prefix}security.protocol` must be one of {', '.join(_PROTOCOLS)}, not `{protocol}`"
        )
    if mechanism is not None and mechanism.strip().upper() not in _MECHANISMS:
        yield f"`{prefix}sasl.mechanism` must be one of {', '.join(_MECHANISMS)}, not `{mechanism}`"
    if protocol is not None:
        return
    for start, remedy in (("sasl.", "SASL_SSL or SASL_PLAINTEXT"), ("ssl.", "SSL")):
        name = next((name for name in sorted(settings) if name.startswith(start)), None)
        if name is not None:
            yield (
                f"`{prefix}{name}` is set without `{prefix}security.protocol`, so the connection "
                f"would be plaintext. Set it to {remedy}"
            )
            return


def kafka_warnings(prefix: str, settings: Mapping[str, str]) -> Iterator[str]:
    """A warning for each name that is probably a misspelled setting of Kafka's client."""
    for name in sorted(settings.keys() - _NAMES):
        nearest = get_close_matches(name, _NAMES, n=1, cutoff=0.9)
        if nearest:
            yield (f"`{prefix}{name}` is not a known setting. Did you mean `{prefix}{nearest[0]}`?")
