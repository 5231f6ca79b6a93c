"""Causes of TLS failures: one clause per cause, with the names of the server's settings."""

import pytest

from sidecar.tls.failures import TlsServer, tls_failure

BROKER = TlsServer(
    name="the broker",
    address="bootstrap.servers",
    trusted="ssl.truststore.location",
    identity="ssl.keystore.location",
    protocols="ssl.enabled.protocols",
    hostname_check="check.hostname=false",
    enabled="security.protocol",
    reports_closed_handshake=True,
)
QUIET = TlsServer("the server", "url", "ca", "key", "", "")


@pytest.mark.parametrize(
    ("text", "clause"),
    [
        (
            "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: certificate has expired",
            "the certificate of the broker has expired: renew it, or correct the clock of this "
            "machine",
        ),
        (
            "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: Hostname mismatch, "
            "certificate is not valid for 'a'",
            "the certificate of the broker is for another host: set bootstrap.servers to a name in "
            "the certificate, or set check.hostname=false",
        ),
        (
            "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate",
            "the certificate of the broker is signed by an untrusted CA: add the CA to "
            "ssl.truststore.location",
        ),
        (
            "SSL handshake failed: error:0A000086:SSL routines::certificate verify failed: broker "
            "certificate could not be verified",
            "the certificate of the broker cannot be verified: it is signed by an untrusted CA "
            "(ssl.truststore.location), has expired, or is for another host (bootstrap.servers)",
        ),
        (
            "SSL routines::tlsv13 alert certificate required: SSL alert number 116",
            "the broker requires a client certificate that it trusts: set ssl.keystore.location",
        ),
        (
            "[SSL: TLSV1_ALERT_UNKNOWN_CA] tlsv1 alert unknown ca",
            "the broker rejected the agent's client certificate: set ssl.keystore.location to a "
            "valid one that is signed by a CA of the server",
        ),
        (
            "[SSL: UNSUPPORTED_PROTOCOL] unsupported protocol",
            "the broker supports neither TLS 1.2 nor 1.3: enable TLS 1.2 there "
            "(ssl.enabled.protocols)",
        ),
        (
            "[SSL: WRONG_VERSION_NUMBER] wrong version number",
            "the broker does not use TLS on this port: check security.protocol",
        ),
        (
            "EOF occurred in violation of protocol (_ssl.c:1006)",
            "the broker closed the connection in the TLS handshake: if it requires a client "
            "certificate, set ssl.keystore.location",
        ),
    ],
)
def test_tls_failure_is_explained_with_its_remedy(text: str, clause: str) -> None:
    assert tls_failure(text, BROKER) == clause


@pytest.mark.parametrize(
    "text", ["connection refused", "WRONG_VERSION_NUMBER", "EOF occurred in violation of protocol"]
)
def test_other_errors_are_not_tls_failures(text: str) -> None:
    assert tls_failure(text, QUIET) is None


def test_missing_server_settings_are_omitted_from_clause() -> None:
    assert tls_failure("UNSUPPORTED_PROTOCOL", QUIET) == (
        "the server supports neither TLS 1.2 nor 1.3: enable TLS 1.2 there"
    )
    assert tls_failure("Hostname mismatch", QUIET) == (
        "the certificate of the server is for another host: set url to a name in the certificate"
    )
