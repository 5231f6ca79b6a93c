"""Properties of Kafka Connect in files that were written for a connector.

The agent accepts such files unchanged: it rejects values that ask for unsupported features with a
reason, and warns about properties without effect.
"""

from collections.abc import Mapping

from sidecar.properties import Properties

_NO_CONNECT = "the agent runs without Kafka Connect."

INERT: Mapping[str, str] = {
    "connector.class": _NO_CONNECT,
    "name": _NO_CONNECT,
    "tasks.max": _NO_CONNECT,
    "converters": "the agent has no custom converters.",
    "custom.sanitize.pattern": "the agent uses `custom.metric.tags` unchanged.",
    "extended.headers.enabled": "the headers are those of docs/reference/event-format.md.",
    "topic.cache.size": "the agent needs no cache.",
}
"""Properties of every Debezium connector that have no effect."""


def unused(properties: Properties, prefixes: Mapping[str, str]) -> list[str]:
    """A warning for each property under a prefix; `prefixes` are by field name."""
    return [
        f"`{prefix}{name}` has no effect here."
        for field_name, prefix in prefixes.items()
        for name in sorted(getattr(properties, field_name))
    ]
