"""What the Kafka client says of a setting that it does not take, under the name that the user gave.

The client names its own settings; a file has the names of Java's producer for some of them.
"""

import logging
import re
from collections.abc import Mapping

from confluent_kafka import KafkaException, Producer

from sidecar.errors import ConfigError
from sidecar.properties.secrets import shown_value
from sidecar.sinks.kafka.config.client_config import PREFIX, client_config
from sidecar.sinks.kafka.config.java_names import RENAMED
from sidecar.sinks.kafka.delivery_errors import reason

_PROPERTY = re.compile(r'(?:property|value for) "([^"]+)"|producer: ([a-z]+\.[a-z.]+) failed')
_MECHANISM = re.compile(r"SASL mechanism", re.IGNORECASE)
_SILENT = logging.Logger("silent", logging.CRITICAL + 1)
"""For a client that is only asked what it takes."""
_ALIASES: Mapping[str, str] = {
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
"""The client's names behind those that a file may have."""


def rejected_setting(error: KafkaException, settings: Mapping[str, str]) -> ConfigError:
    """One sentence: property, value and what the client says. `settings` have no prefix."""
    said = reason(error.args[0])
    named = _named(said)
    for name, value in settings.items():
        if named is not None and named in (name, _ALIASES.get(name)):
            shown = shown_value(name, value)
            return ConfigError(
                f"`{PREFIX}{name}` cannot be `{shown}`: the Kafka client says: {said}."
            )
    return ConfigError(f"The Kafka client does not take `{PREFIX}*`: {said}.")


def _named(said: str) -> str | None:
    """The setting of the client that it speaks of."""
    match = _PROPERTY.search(said)
    if match is not None:
        return match[1] or match[2]
    return "sasl.mechanisms" if _MECHANISM.search(said) else None


def settings_problems(settings: Mapping[str, str]) -> list[str]:
    """What the client itself, and Java's stores, have against the settings; nobody is connected
    to."""
    try:
        config = dict(client_config(settings))
        config.pop("bootstrap.servers", None)
        Producer(config, logger=_SILENT)
    except ConfigError as error:
        return list(error.problems)
    except KafkaException as error:
        return list(rejected_setting(error, settings).problems)
    return []
