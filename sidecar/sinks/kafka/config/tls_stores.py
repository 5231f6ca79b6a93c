"""Java's stores that `kafka.producer.ssl.*` names, as the client takes them.

PKCS12 key stores the client reads itself. All others are read here, and sent over in memory: no
key is written anywhere.
"""

from collections.abc import Mapping

from sidecar.tls.store_file import StoreFile, read_identity, read_trusted

TRUSTSTORE, KEYSTORE = "ssl.truststore.location", "ssl.keystore.location"


def store_config(
    prefix: str, trust: StoreFile | None, identity: StoreFile | None
) -> Mapping[str, str]:
    """The client's settings instead of them. Raises ConfigError: one sentence with property and
    file."""
    config: dict[str, str] = {}
    if trust is not None:
        config["ssl.ca.pem"] = read_trusted(f"{prefix}{TRUSTSTORE}", trust).decode()
    if identity is not None:
        found = read_identity(f"{prefix}{KEYSTORE}", identity)
        config["ssl.key.pem"] = found.key.decode()
        config["ssl.certificate.pem"] = found.chain.decode()
    return config
