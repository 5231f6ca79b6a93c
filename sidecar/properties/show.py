"""The effective configuration as rows: name, value, origin; secrets are masked."""

from collections.abc import Mapping
from dataclasses import dataclass

from sidecar.properties.loading import LoadedProperties
from sidecar.properties.model import Declaration, Properties, declarations
from sidecar.properties.references import has_reference, is_reference
from sidecar.properties.secrets import shown_text, shown_value
from sidecar.properties.source import DEFAULT, Origin, Setting
from sidecar.properties.text import MASK, value_text


@dataclass(frozen=True, slots=True)
class Row:
    """One effective property. References to the environment or a file are shown unresolved."""

    name: str
    value: str
    origin: Origin


def rows(loaded: LoadedProperties[Properties]) -> list[Row]:
    """Every property of the model in its order, then those under its prefixes."""
    settings = {setting.name: setting for setting in loaded.settings}
    shown = []
    for field_name, _, declaration in declarations(type(loaded.properties)):
        value = getattr(loaded.properties, field_name)
        if declaration.is_prefix:
            shown.extend(_prefixed(declaration, value, settings))
            continue
        setting = _setting(declaration, settings)
        if setting is None:
            text = MASK if declaration.secret and value else value_text(value)
            shown.append(Row(declaration.name, text, DEFAULT))
        else:
            shown.append(Row(declaration.name, _text(declaration, setting, value), setting.origin))
    return shown


def _setting(declaration: Declaration, settings: Mapping[str, Setting]) -> Setting | None:
    for name in declaration.names:
        if name in settings:
            return settings[name]
    return None


def _text(declaration: Declaration, setting: Setting, value: object) -> str:
    if is_reference(setting.value):
        return setting.value
    if declaration.secret:
        return MASK
    return shown_text(setting.value if has_reference(setting.value) else value_text(value))


def _prefixed(
    declaration: Declaration, values: Mapping[str, str], settings: Mapping[str, Setting]
) -> list[Row]:
    found = []
    for suffix in sorted(values):
        setting = settings[declaration.name + suffix]
        written = setting.value
        shown = written if is_reference(written) else shown_value(setting.name, written)
        found.append(Row(setting.name, shown, setting.origin))
    return found
