"""Java key and trust stores in `kafka.producer.ssl.*`.

The client itself reads PEM files and PKCS12 key stores. The agent reads all other stores and passes
their content in memory, so that no key is written to disk.
"""

from collections.abc import Mapping
from pathlib import Path, PurePath

from sidecar.sinks.kafka.config.java_names import PREFIX
from sidecar.tls.store_file import StoreFile, read_identity, read_trusted

TRUSTSTORE, KEYSTORE = "ssl.truststore.location", "ssl.keystore.location"


def store_config(settings: Mapping[str, str]) -> Mapping[str, str]:
    """Build the client's settings for stores that it cannot read. Raises ConfigError that names
    property and file."""
    config: dict[str, str] = {}
    location = settings.get(TRUSTSTORE)
    if location and not trust_setting(settings):
        trust = StoreFile(Path(location), settings.get("ssl.truststore.password"))
        config["ssl.ca.pem"] = read_trusted(f"{PREFIX}{TRUSTSTORE}", trust).decode()
    location = settings.get(KEYSTORE)
    if location and not identity_settings(settings):
        password, key_password = map(settings.get, ("ssl.keystore.password", "ssl.key.password"))
        identity = StoreFile(Path(location), password, key_password)
        found = read_identity(f"{PREFIX}{KEYSTORE}", identity)
        config["ssl.key.pem"] = found.key.decode()
        config["ssl.certificate.pem"] = found.chain.decode()
    return config


def trust_setting(settings: Mapping[str, str]) -> dict[str, str]:
    """Build the client's setting for a trust store that it reads itself."""
    location = settings.get(TRUSTSTORE)
    if not location or _store_type(location, settings.get("ssl.truststore.type")) != "PEM":
        return {}
    return {"ssl.ca.location": location}


def identity_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Build the client's settings for a key store that it reads itself."""
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


def _store_type(location: str, declared: str | None) -> str:
    if declared:
        return declared.strip().upper()
    suffix = PurePath(location).suffix.lower()
    if suffix in (".pem", ".crt", ".cer"):
        return "PEM"
    return "PKCS12" if suffix in (".p12", ".pfx") else "JKS"
