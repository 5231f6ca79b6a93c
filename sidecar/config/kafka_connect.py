"""Properties of Kafka Connect in files that were written for a connector.

The agent accepts such files unchanged: it rejects values that ask for unsupported features with a
reason, and warns about properties without effect.
"""

from collections.abc import Collection, Mapping

from sidecar.properties.model import Properties, declarations

_NO_CONNECT = "the agent runs without Kafka Connect."

INERT: Mapping[str, str] = {
    "connector.class": _NO_CONNECT,
    "name": _NO_CONNECT,
    "tasks.max": _NO_CONNECT,
    "converters": "the agent has no custom converters.",
    "custom.sanitize.pattern": "the agent uses `custom.metric.tags` unchanged.",
    "internal.key.converter": _NO_CONNECT,
    "internal.value.converter": _NO_CONNECT,
    "extended.headers.enabled": "the headers are those of docs/reference/event-format.md.",
    "topic.cache.size": "the agent needs no cache.",
}
"""Properties of every Debezium connector that have no effect."""

_NO_TRANSFORMS = "only Kafka Connect can run them; use `event.transform`"
UNSUPPORTED: Mapping[str, str] = {
    "transforms": _NO_TRANSFORMS,
    "predicates": _NO_TRANSFORMS,
    "bootstrap.servers": "use `kafka.producer.bootstrap.servers`",
    "topic.creation.groups": "use `topic.creation.default.*`, for all topics",
}
"""Rejected properties of every connector, with their replacement."""


def unused(
    properties: Properties, model: type[Properties], *, used: Collection[str] = ()
) -> list[str]:
    """A warning for each property under the prefixes of `model`, which have no effect, except for
    the fields `used`."""
    return [
        f"`{declared.name}{name}` has no effect here."
        for field_name, _, declared in declarations(model)
        if declared.is_prefix and field_name not in used
        for name in sorted(getattr(properties, field_name))
    ]
