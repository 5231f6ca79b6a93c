"""Reports settings that the Kafka client rejects under the names that the user wrote.

The client's errors contain its own names; a properties file may use the Java producer's names.
"""

import logging
import re
from collections.abc import Mapping

from confluent_kafka import KafkaException, Producer

from sidecar.errors import ConfigError
from sidecar.properties.secrets import shown_value
from sidecar.sinks.kafka.config.client_config import client_config
from sidecar.sinks.kafka.config.java_names import ALIASES, PREFIX
from sidecar.sinks.kafka.delivery_errors import reason

_PROPERTY = re.compile(r'(?:property|value for) "([^"]+)"|producer: ([a-z]+\.[a-z.]+) failed')
_MECHANISM = re.compile(r"SASL mechanism", re.IGNORECASE)
_SILENT = logging.Logger("silent", logging.CRITICAL + 1)
"""For a client that only validates settings."""


def rejected_setting(error: KafkaException, settings: Mapping[str, str]) -> ConfigError:
    """Build an error with property, value and the client's reason. `settings` have no prefix."""
    text = reason(error.args[0])
    named = _named(text)
    for name, value in settings.items():
        if named is not None and named in (name, ALIASES.get(name)):
            shown = shown_value(name, value)
            return ConfigError(
                f"`{PREFIX}{name}` cannot be `{shown}`: the Kafka client rejects it: {text}."
            )
    return ConfigError(f"The Kafka client rejects `{PREFIX}*`: {text}.")


def _named(text: str) -> str | None:
    """Find the client's name of the setting in its message."""
    match = _PROPERTY.search(text)
    if match is not None:
        return match[1] or match[2]
    return "sasl.mechanisms" if _MECHANISM.search(text) else None


def settings_problems(settings: Mapping[str, str]) -> list[str]:
    """Return mistakes in the settings that the client or the Java stores reveal offline."""
    try:
        config = dict(client_config(settings))
        config.pop("bootstrap.servers", None)
        Producer(config, logger=_SILENT)
    except ConfigError as error:
        return list(error.problems)
    except KafkaException as error:
        return list(rejected_setting(error, settings).problems)
    return []
