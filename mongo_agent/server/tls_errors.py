"""Explanations of TLS failures in terms of MongoDB's properties."""

from sidecar.tls.failures import TlsServer, tls_failure

_SERVER = TlsServer(
    name="MongoDB",
    address="`mongodb.hosts` or the connection string, and the configuration of the replica set",
    trusted="`mongodb.ssl.truststore`, `mongodb.ssl.ca.path` or, in the connection string, "
    "`tlsCAFile`",
    identity="`mongodb.ssl.keystore`, `mongodb.ssl.certificate.path` or, in the connection string, "
    "`tlsCertificateKeyFile`",
    protocols="`net.tls.disabledProtocols`",
    hostname_check="`mongodb.ssl.invalid.hostname.allowed=true`",
)


def tls_error(text: str) -> str | None:
    """Explain the driver's error text; None unless it is about certificates or protocols."""
    clause = tls_failure(text, _SERVER)
    return None if clause is None else f"{clause[0].upper()}{clause[1:]}."
