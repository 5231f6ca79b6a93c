"""Kafka Connect properties in files that were written for a connector.

The agent reads such files unchanged. It rejects values that request unsupported features, and
warns about properties without effect.
"""

from collections.abc import Collection, Mapping

from sidecar.properties.model import Properties, declarations

_NO_CONNECT = "the agent runs without Kafka Connect."

INERT: Mapping[str, str] = {
    "connector.class": _NO_CONNECT,
    "name": _NO_CONNECT,
    "tasks.max": _NO_CONNECT,
    "converters": "the agent does not support custom converters.",
    "custom.sanitize.pattern": "the agent uses `custom.metric.tags` unchanged.",
    "internal.key.converter": _NO_CONNECT,
    "internal.value.converter": _NO_CONNECT,
    "extended.headers.enabled": "docs/reference/event-format.md lists the headers.",
    "topic.cache.size": "the agent needs no cache.",
}
"""Properties common to all Debezium connectors that have no effect, with the reason."""

_NO_TRANSFORMS = "only Kafka Connect can run them; use `event.transform`"
UNSUPPORTED: Mapping[str, str] = {
    "transforms": _NO_TRANSFORMS,
    "predicates": _NO_TRANSFORMS,
    "bootstrap.servers": "use `kafka.producer.bootstrap.servers`",
    "topic.creation.groups": "use `topic.creation.default.*`, for all topics",
}
"""Rejected properties common to all connectors, with their replacement."""


def unused(
    properties: Properties, model: type[Properties], *, used: Collection[str] = ()
) -> list[str]:
    """Return a warning for each property without effect: all under the prefixes of `model`, except
    the fields `used`."""
    return [
        f"`{declared.name}{name}` has no effect here."
        for field_name, _, declared in declarations(model)
        if declared.is_prefix and field_name not in used
        for name in sorted(getattr(properties, field_name))
    ]
