"""Explains why a TLS handshake failed, with the remedy.

Clients repeat OpenSSL's words, such as `CERTIFICATE_VERIFY_FAILED`. Each cause has one sentence for
all servers; only the names of properties differ.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TlsServer:
    """A kind of server, and the names of its TLS settings for remedies."""

    name: str
    """With its article, such as `the broker`."""
    address: str
    """The agent's setting with the address."""
    trusted: str
    """The agent's setting with the trusted CAs."""
    identity: str
    """The agent's setting with the client certificate."""
    protocols: str
    """The server's setting with its TLS versions; may be empty."""
    hostname_check: str
    """The setting that disables the host name check; may be empty."""
    enabled: str = ""
    """The agent's setting that enables TLS. Empty: a server without TLS is not recognized."""
    reports_closed_handshake: bool = False
    """Whether a handshake that the server closes without an alert is a TLS failure."""


def tls_failure(text: str, server: TlsServer) -> str | None:
    """Return a clause with cause and remedy, without a full stop; `text` contains OpenSSL's words.

    Returns None for any other text.
    """
    of_certificate = f"the certificate of {server.name}"
    name_check = f", or set {server.hostname_check}" if server.hostname_check else ""
    protocols = f" ({server.protocols})" if server.protocols else ""
    clauses = {
        _EXPIRED: f"{of_certificate} has expired: renew it, or correct the clock of this machine",
        _NOT_YET_VALID: f"{of_certificate} is not valid yet: correct the clocks of this machine "
        "and of the server",
        _OTHER_HOST: f"{of_certificate} is for another host: set {server.address} to a name in the "
        f"certificate{name_check}",
        _UNTRUSTED: f"{of_certificate} is signed by an untrusted CA: add the CA to "
        f"{server.trusted}",
        _UNVERIFIED: f"{of_certificate} cannot be verified: it is signed by an untrusted CA "
        f"({server.trusted}), has expired, or is for another host ({server.address})",
        _CERTIFICATE_REQUIRED: f"{server.name} requires a client certificate that it trusts: set "
        f"{server.identity}",
        _CERTIFICATE_REJECTED: f"{server.name} rejected the agent's client certificate: set "
        f"{server.identity} to a valid one that is signed by a CA of the server",
        _OLD_PROTOCOL: f"{server.name} supports neither TLS 1.2 nor 1.3: enable TLS 1.2 there"
        f"{protocols}",
    }
    if server.enabled:
        clauses[_PLAINTEXT] = f"{server.name} does not use TLS on this port: check {server.enabled}"
    if server.reports_closed_handshake:
        clauses[_CLOSED] = (
            f"{server.name} closed the connection in the TLS handshake: if it requires a client "
            f"certificate, set {server.identity}"
        )
    found = (clause for words, clause in clauses.items() if any(word in text for word in words))
    return next(found, None)


# In the order of the search.
_EXPIRED = ("certificate has expired",)
_NOT_YET_VALID = ("certificate is not yet valid",)
_OTHER_HOST = ("Hostname mismatch", "IP address mismatch", "doesn't match")
_UNTRUSTED = ("CERTIFICATE_VERIFY_FAILED",)
# librdkafka reports no cause.
_UNVERIFIED = ("certificate verify failed",)
_CERTIFICATE_REQUIRED = (
    "ALERT_CERTIFICATE_REQUIRED",
    "ALERT_BAD_CERTIFICATE",
    "ALERT_HANDSHAKE_FAILURE",
    "alert certificate required",
    "alert bad certificate",
    "alert handshake failure",
)
_CERTIFICATE_REJECTED = (
    "ALERT_UNKNOWN_CA",
    "ALERT_CERTIFICATE_UNKNOWN",
    "ALERT_CERTIFICATE_EXPIRED",
    "ALERT_CERTIFICATE_REVOKED",
    "alert unknown ca",
    "alert certificate unknown",
    "alert certificate expired",
    "alert certificate revoked",
)
_OLD_PROTOCOL = (
    "ALERT_PROTOCOL_VERSION",
    "UNSUPPORTED_PROTOCOL",
    "alert protocol version",
    "unsupported protocol",
)
_PLAINTEXT = (
    "WRONG_VERSION_NUMBER",
    "RECORD_LAYER_FAILURE",
    "wrong version number",
    "unexpected EOF while reading",
    "packet length too long",
)
# A server may close the connection before its alert is read.
_CLOSED = ("EOF occurred in violation of protocol",)
