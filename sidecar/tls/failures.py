"""Why a TLS handshake failed, with the remedy.

Clients repeat OpenSSL's words, such as `CERTIFICATE_VERIFY_FAILED`. The same cause has the same
sentence for every server; the names of properties differ.
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TlsServer:
    """A kind of server and the settings that decide about TLS with it, as remedies name them."""

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
    """The setting that switches the check of the host name off; may be empty."""
    enabled: str = ""
    """The agent's setting that switches TLS on. Empty: a server without TLS is not recognized."""
    reports_closed_handshake: bool = False
    """Whether a handshake that the server closes without an alert is a TLS failure."""


def tls_failure(text: str, server: TlsServer) -> str | None:
    """One clause with cause and remedy, without a full stop; `text` holds OpenSSL's words.

    None where they are about something else.
    """
    for words, clause in _CLAUSES:
        if any(word in text for word in words):
            found = clause(server)
            if found:
                return found
    return None


def _expired(server: TlsServer) -> str:
    return (
        f"the certificate of {server.name} has expired: renew it, or correct the clock of this "
        "machine"
    )


def _not_yet_valid(server: TlsServer) -> str:
    return (
        f"the certificate of {server.name} is not valid yet: correct the clocks of this machine "
        "and of the server"
    )


def _other_host(server: TlsServer) -> str:
    alternative = f", or set {server.hostname_check}" if server.hostname_check else ""
    return (
        f"the certificate of {server.name} is for another host: set {server.address} to a name in "
        f"the certificate{alternative}"
    )


def _untrusted(server: TlsServer) -> str:
    return (
        f"the certificate of {server.name} is signed by an untrusted CA: add the CA to "
        f"{server.trusted}"
    )


def _unverified(server: TlsServer) -> str:
    return (
        f"the certificate of {server.name} cannot be verified: it is signed by an untrusted CA "
        f"({server.trusted}), has expired, or is for another host ({server.address})"
    )


def _client_certificate_required(server: TlsServer) -> str:
    return f"{server.name} requires a client certificate that it trusts: set {server.identity}"


def _client_certificate_rejected(server: TlsServer) -> str:
    return (
        f"{server.name} rejected the agent's client certificate: set {server.identity} to a valid "
        "one that is signed by a CA of the server"
    )


def _old_protocol(server: TlsServer) -> str:
    setting = f" ({server.protocols})" if server.protocols else ""
    return f"{server.name} supports neither TLS 1.2 nor 1.3: enable TLS 1.2 there{setting}"


def _plaintext(server: TlsServer) -> str:
    return f"{server.name} does not use TLS on this port: check {server.enabled}"


def _closed(server: TlsServer) -> str:
    return (
        f"{server.name} closed the connection in the TLS handshake: if it requires a client "
        f"certificate, set {server.identity}"
    )


_CLAUSES: tuple[tuple[tuple[str, ...], Callable[[TlsServer], str]], ...] = (
    (("certificate has expired",), _expired),
    (("certificate is not yet valid",), _not_yet_valid),
    (("Hostname mismatch", "IP address mismatch", "doesn't match"), _other_host),
    (("CERTIFICATE_VERIFY_FAILED",), _untrusted),
    # librdkafka reports no cause.
    (("certificate verify failed",), _unverified),
    (
        (
            "ALERT_CERTIFICATE_REQUIRED",
            "ALERT_BAD_CERTIFICATE",
            "ALERT_HANDSHAKE_FAILURE",
            "alert certificate required",
            "alert bad certificate",
            "alert handshake failure",
        ),
        _client_certificate_required,
    ),
    (
        (
            "ALERT_UNKNOWN_CA",
            "ALERT_CERTIFICATE_UNKNOWN",
            "ALERT_CERTIFICATE_EXPIRED",
            "ALERT_CERTIFICATE_REVOKED",
            "alert unknown ca",
            "alert certificate unknown",
            "alert certificate expired",
            "alert certificate revoked",
        ),
        _client_certificate_rejected,
    ),
    (
        (
            "ALERT_PROTOCOL_VERSION",
            "UNSUPPORTED_PROTOCOL",
            "alert protocol version",
            "unsupported protocol",
        ),
        _old_protocol,
    ),
    (
        (
            "WRONG_VERSION_NUMBER",
            "RECORD_LAYER_FAILURE",
            "wrong version number",
            "unexpected EOF while reading",
            "packet length too long",
        ),
        lambda server: _plaintext(server) if server.enabled else "",
    ),
    (
        # A server may close the connection before its alert is read.
        ("EOF occurred in violation of protocol",),
        lambda server: _closed(server) if server.reports_closed_handshake else "",
    ),
)
