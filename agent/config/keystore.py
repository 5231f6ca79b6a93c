"""The keystore configured by properties or by the node's `cassandra.yaml`."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent.config.capture import SegmentProperties
from agent.keystore.source import KeystoreSettings

_OPTIONS = "transparent_data_encryption_options"


def node_keystore(source: str, document: Mapping[str, Any]) -> KeystoreSettings | None:
    """Returns the keystore in a `cassandra.yaml`, or None. Ignores whether encryption is enabled,
    because older segments can be encrypted. Source: Cassandra's `TransparentDataEncryptionOptions`,
    `JKSKeyProvider`."""
    options = document.get(_OPTIONS)
    provider = _first(options.get("key_provider")) if isinstance(options, Mapping) else None
    parameters = _first(provider.get("parameters")) if provider is not None else None
    if parameters is None or not parameters.get("keystore"):
        return None

    def text(name: str) -> str | None:
        value = parameters.get(name)
        return str(value) if value not in (None, "") else None

    return KeystoreSettings(
        path=Path(str(parameters["keystore"])),
        store_password=text("keystore_password") or "",
        key_password=text("key_password"),
        store_type=text("store_type"),
        origin=f"{_OPTIONS} in {source}",
    )


def keystore_settings(
    properties: SegmentProperties, node: KeystoreSettings | None
) -> KeystoreSettings | None:
    """Merges the settings; properties override the settings of the node."""
    password, key_password = properties.keystore_password, properties.keystore_key_password
    named = node
    if properties.keystore_path is not None:
        origin = "commit.log.keystore.path"
        named = KeystoreSettings(properties.keystore_path, "", None, None, origin)
        if node is not None:
            named = replace(node, path=named.path, origin=origin)
    if named is None:
        return None
    if password is not None:
        named = replace(named, store_password=password.get_secret_value(), key_password=None)
    if key_password is not None:
        named = replace(named, key_password=key_password.get_secret_value())
    return replace(named, store_type=properties.keystore_type or named.store_type)


def _first(value: object) -> Mapping[str, Any] | None:
    """Returns a mapping, or the first mapping of a list: Cassandra accepts both."""
    if isinstance(value, list) and value:
        value = value[0]
    return value if isinstance(value, Mapping) else None
