"""Java key and trust stores in `kafka.producer.ssl.*`.

The client itself reads PEM files and PKCS12 key stores. The agent reads all other stores and passes
their content in memory, so that no key is written to disk.
"""

from collections.abc import Mapping
from pathlib import Path, PurePath

from sidecar.tls.store_file import StoreFile, read_identity, read_trusted

TRUSTSTORE, KEYSTORE = "ssl.truststore.location", "ssl.keystore.location"


def store_config(
    prefix: str, trust: StoreFile | None, identity: StoreFile | None
) -> Mapping[str, str]:
    """Build the client's settings for stores that it cannot read. Raises ConfigError that names
    property and file."""
    config: dict[str, str] = {}
    if trust is not None:
        config["ssl.ca.pem"] = read_trusted(f"{prefix}{TRUSTSTORE}", trust).decode()
    if identity is not None:
        found = read_identity(f"{prefix}{KEYSTORE}", identity)
        config["ssl.key.pem"] = found.key.decode()
        config["ssl.certificate.pem"] = found.chain.decode()
    return config


def client_stores(settings: Mapping[str, str]) -> dict[str, str]:
    """Build the client's settings for stores that it reads itself."""
    return {**_trust_setting(settings), **_identity_settings(settings)}


def _trust_setting(settings: Mapping[str, str]) -> dict[str, str]:
    location = settings.get(TRUSTSTORE)
    if not location or _store_type(location, settings.get("ssl.truststore.type")) != "PEM":
        return {}
    return {"ssl.ca.location": location}


def _identity_settings(settings: Mapping[str, str]) -> dict[str, str]:
    location = settings.get(KEYSTORE)
    if not location:
        return {}
    match _store_type(location, settings.get("ssl.keystore.type")):
        case "PEM":
            return {"ssl.certificate.location": location, "ssl.key.location": location}
        case "PKCS12":
            password = settings.get("ssl.keystore.password", "")
            return {"ssl.keystore.location": location, "ssl.keystore.password": password}
        case _:
            return {}


def java_trust(settings: Mapping[str, str]) -> StoreFile | None:
    """Return the trust store, if the client cannot read its format."""
    location = settings.get(TRUSTSTORE)
    if not location or _trust_setting(settings):
        return None
    return StoreFile(Path(location), settings.get("ssl.truststore.password"))


def java_identity(settings: Mapping[str, str]) -> StoreFile | None:
    """Return the key store, if the client cannot read its format."""
    location = settings.get(KEYSTORE)
    if not location or _identity_settings(settings):
        return None
    return StoreFile(
        Path(location), settings.get("ssl.keystore.password"), settings.get("ssl.key.password")
    )


def _store_type(location: str, declared: str | None) -> str:
    if declared:
        return declared.strip().upper()
    suffix = PurePath(location).suffix.lower()
    if suffix in (".pem", ".crt", ".cer"):
        return "PEM"
    return "PKCS12" if suffix in (".p12", ".pfx") else "JKS"
