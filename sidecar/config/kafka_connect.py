"""What properties files that were written for Kafka Connect hold, where there is no Connect.

Such files are taken as they are: a value that asks for what is here is accepted, one that asks for
something else is refused with a reason, and what changes nothing gives a warning.
"""

from collections.abc import Mapping

from sidecar.properties import Properties

_NO_CONNECT = "there is no Kafka Connect here."

INERT: Mapping[str, str] = {
    "connector.class": _NO_CONNECT,
    "name": _NO_CONNECT,
    "tasks.max": _NO_CONNECT,
    "converters": "there are no custom converters.",
    "custom.sanitize.pattern": "`custom.metric.tags` are taken as they are.",
    "extended.headers.enabled": "the headers are those of docs/reference/event-format.md.",
    "topic.cache.size": "no cache is needed.",
}
"""Names that every connector of Debezium has and that mean nothing here."""


def unused(properties: Properties, prefixes: Mapping[str, str]) -> list[str]:
    """A sentence for each property under a prefix; `prefixes` are by field."""
    return [
        f"`{prefix}{name}` has no effect here."
        for field_name, prefix in prefixes.items()
        for name in sorted(getattr(properties, field_name))
    ]
