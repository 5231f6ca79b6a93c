"""The effective configuration: as rows (secrets are masked), as a hash, and in printed commands."""

import hashlib
import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sidecar.properties.loading import LoadedProperties
from sidecar.properties.model import Declaration, Properties, declarations
from sidecar.properties.references import has_reference, is_reference
from sidecar.properties.secrets import hiding, shown_text, shown_value
from sidecar.properties.source import DEFAULT, Setting
from sidecar.properties.types import MASK, value_text


@dataclass(frozen=True, slots=True)
class EffectiveProperty:
    """One property with its value as text, with secrets masked, and its origin."""

    name: str
    value: str
    origin: str
    """`default`, `command line`, or file and line."""


def rows(loaded: LoadedProperties[Properties]) -> list[EffectiveProperty]:
    """Return every property in the order of the model; prefixes are expanded in place. References
    to the environment or a file stay unresolved."""
    settings = {setting.name: setting for setting in loaded.settings}
    shown: list[EffectiveProperty] = []
    for field_name, _, declaration in declarations(type(loaded.properties)):
        value = getattr(loaded.properties, field_name)
        if declaration.is_prefix:
            shown.extend(_prefixed(declaration, value, settings))
            continue
        setting = next((settings[name] for name in declaration.names if name in settings), None)
        if setting is None:
            text, origin = MASK if declaration.secret and value else value_text(value), DEFAULT
        else:
            text, origin = _text(declaration, setting, value), setting.origin
        shown.append(EffectiveProperty(declaration.name, text, str(origin)))
    return shown


def _text(declaration: Declaration, setting: Setting, value: object) -> str:
    if is_reference(setting.value):
        return setting.value
    if declaration.secret:
        return MASK
    return shown_text(setting.value if has_reference(setting.value) else value_text(value))


def _prefixed(
    declaration: Declaration, values: Mapping[str, str], settings: Mapping[str, Setting]
) -> Iterator[EffectiveProperty]:
    for suffix in sorted(values):
        setting = settings[declaration.name + suffix]
        written = setting.value
        shown = written if is_reference(written) else shown_value(setting.name, written)
        yield EffectiveProperty(setting.name, shown, str(setting.origin))


_DIGITS = 12
_PER_NODE = frozenset(("client.id", "client.rack", "group.instance.id"))
"""Kafka client settings that identify one client or its location."""


def configuration_fingerprint(properties: Properties) -> str:
    """Return twelve hexadecimal digits, equal on all nodes with the same configuration.

    They cover every property that differs from its default, so a release that adds properties does
    not change them. They exclude secrets and per-node properties.
    """
    text = json.dumps(dict(sorted(_entries(properties))), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def _entries(properties: Properties) -> Iterator[tuple[str, str]]:
    for field_name, info, declaration in declarations(type(properties)):
        if declaration.secret or declaration.is_per_node:
            continue
        value = getattr(properties, field_name)
        if declaration.is_prefix:
            named = ((declaration.name + suffix, suffix) for suffix in value.keys() - _PER_NODE)
            yield from ((name, shown_value(name, value[suffix])) for name, suffix in named)
        elif info.is_required() or value != info.get_default(call_default_factory=True):
            yield declaration.name, shown_text(value_text(value))


_COMMAND = re.compile(r"(`(?:mongo-)?agent )(?=[a-z])")


def runnable(text: str, files: Sequence[Path]) -> str:
    """Insert `--config FILE` into each command in backticks, because operators paste them."""
    options = "".join(f"--config {shlex.quote(str(file.absolute()))} " for file in files)
    return _COMMAND.sub(lambda match: match[1] + options, text)


def presenting(loaded: LoadedProperties[Properties]) -> Callable[[str], str]:
    """Return the filter for every text of an agent: it hides secrets and completes commands."""
    hide = hiding(loaded)
    return lambda text: runnable(hide(text), loaded.files)
