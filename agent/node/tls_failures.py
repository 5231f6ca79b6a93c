"""What it means when TLS with the node does not come about, a clause each with what to do.

OpenSSL tells the reason in its own words, which the driver repeats.
"""

_TRUST = "trustStore.location in cassandra.ssl.config.path, or in cassandra.ssl.ca.path"
_SHOW = "keyStore.location in cassandra.ssl.config.path, or in cassandra.ssl.certificate.path"
_CLAUSES = (
    (
        ("Hostname mismatch", "IP address mismatch"),
        "its certificate names another host: name it in cassandra.hosts as the certificate does, "
        "or set cassandra.ssl.check.hostname=false",
    ),
    (
        ("certificate has expired", "certificate is not yet valid"),
        "its certificate is not valid now: renew it there, or see that the clocks are right",
    ),
    (
        ("CERTIFICATE_VERIFY_FAILED",),
        f"its certificate is by nobody that is trusted: name its authority in {_TRUST}",
    ),
    (
        ("ALERT_CERTIFICATE_REQUIRED", "ALERT_BAD_CERTIFICATE", "ALERT_HANDSHAKE_FAILURE"),
        f"it asks for a certificate of its clients that it trusts: name one in {_SHOW}",
    ),
    (
        ("ALERT_UNKNOWN_CA", "ALERT_CERTIFICATE_UNKNOWN", "ALERT_CERTIFICATE_EXPIRED"),
        f"it does not trust our certificate, that of {_SHOW}",
    ),
    (
        ("ALERT_PROTOCOL_VERSION", "UNSUPPORTED_PROTOCOL"),
        "it speaks neither TLS 1.2 nor 1.3, and older ones are not safe: allow TLSv1.2 there "
        "(client_encryption_options, accepted_protocols)",
    ),
    (
        ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"),
        "it does not speak TLS there: see cassandra.ssl.enabled and cassandra.port",
    ),
    (
        # What it says of a certificate may be lost when it ends the connection right behind.
        ("EOF occurred in violation of protocol",),
        f"it ended TLS without a word: if it asks for a certificate of its clients, name one in "
        f"{_SHOW}",
    ),
)


def tls_clause(said: str) -> str | None:
    """`said` is what the driver says; None where that is not about TLS."""
    for words, clause in _CLAUSES:
        if any(word in said for word in words):
            return clause
    return None
