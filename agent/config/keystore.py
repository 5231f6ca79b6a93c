"""The keystore that properties and the node's `cassandra.yaml` name."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent.config.capture import SegmentProperties
from agent.keystore.source import KeystoreSettings

_OPTIONS = "transparent_data_encryption_options"


def node_keystore(source: str, document: Mapping[str, Any]) -> KeystoreSettings | None:
    """The keystore in a `cassandra.yaml`; None without one. Also when encryption is disabled, since
    older segments can be encrypted.

    Source: Cassandra's `TransparentDataEncryptionOptions`, `JKSKeyProvider`.
    """
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
    """A property overrides the setting of the node."""
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
    """Cassandra accepts a mapping, or a list of one mapping."""
    if isinstance(value, list) and value:
        value = value[0]
    return value if isinstance(value, Mapping) else None
