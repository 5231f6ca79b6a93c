"""The configuration in force as rows: name, value, where it comes from; secrets are masked."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sidecar.properties.loading import Loaded
from sidecar.properties.model import Declaration, Properties, declarations
from sidecar.properties.references import has_reference
from sidecar.properties.source import DEFAULT, Origin, Setting
from sidecar.properties.text import MASK, value_text

_SECRET_NAME = re.compile(
    r"password|passwd|secret|jaas|token|credential|passphrase|private|user\.info|\bkey\.pem|ssl\.key\.pem",
    re.IGNORECASE,
)
_IN_ADDRESS = re.compile(r"//[^/@,]*@")
"""User and password in the address of a server."""


@dataclass(frozen=True, slots=True)
class Row:
    """One property in force. A reference to the environment or a file is shown as it is written."""

    name: str
    value: str
    origin: Origin


def rows(loaded: Loaded[Properties]) -> list[Row]:
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
            masked = declaration.secret and not has_reference(setting.value)
            text = setting.value if has_reference(setting.value) else value_text(value)
            shown.append(Row(declaration.name, MASK if masked else text, setting.origin))
    return shown


def _setting(declaration: Declaration, settings: Mapping[str, Setting]) -> Setting | None:
    for name in (declaration.name, *declaration.aliases):
        if name in settings:
            return settings[name]
    return None


def _prefixed(
    declaration: Declaration, values: Mapping[str, str], settings: Mapping[str, Setting]
) -> list[Row]:
    found = []
    for suffix in sorted(values):
        setting = settings[declaration.name + suffix]
        masked = _SECRET_NAME.search(suffix) and not has_reference(setting.value)
        shown = MASK if masked else _IN_ADDRESS.sub(f"//{MASK}@", setting.value)
        found.append(Row(setting.name, shown, setting.origin))
    return found
