"""A short hash of a configuration, equal on all nodes that are configured alike.

It covers every property that differs from its default. So a release that adds properties does not
change it. Secrets and properties that name one node are left out.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping

from sidecar.properties.model import Declaration, Properties, declarations
from sidecar.properties.secrets import shown_text, shown_value
from sidecar.properties.text import value_text

_DIGITS = 12
_PER_NODE = frozenset(("client.id", "client.rack", "group.instance.id"))
"""Settings of Kafka clients that name one client or its place."""


def configuration_fingerprint(properties: Properties) -> str:
    """Twelve hexadecimal digits."""
    text = json.dumps(dict(sorted(_entries(properties))), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def _entries(properties: Properties) -> Iterator[tuple[str, str]]:
    for field_name, info, declaration in declarations(type(properties)):
        if declaration.secret or declaration.is_per_node:
            continue
        value = getattr(properties, field_name)
        if declaration.is_prefix:
            yield from _prefixed(declaration, value)
        elif info.is_required() or value != info.get_default(call_default_factory=True):
            yield declaration.name, shown_text(value_text(value))


def _prefixed(declaration: Declaration, values: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for suffix, text in values.items():
        if suffix not in _PER_NODE:
            name = declaration.name + suffix
            yield name, shown_value(name, text)
