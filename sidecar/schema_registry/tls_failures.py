"""What it means when TLS with the schema registry fails, a clause each with what to do."""

_CLAUSES = (
    (
        ("Hostname mismatch", "IP address mismatch", "doesn't match"),
        "its certificate names another host: name it in schema.registry.url as the certificate "
        "does",
    ),
    (
        ("certificate has expired", "certificate is not yet valid"),
        "its certificate is not valid now: renew it there, or correct the clock of this machine",
    ),
    (
        ("CERTIFICATE_VERIFY_FAILED",),
        "its certificate is signed by an untrusted CA: add the CA to "
        "schema.registry.ssl.truststore.location",
    ),
    (
        ("ALERT_PROTOCOL_VERSION", "UNSUPPORTED_PROTOCOL"),
        "it speaks neither TLS 1.2 nor 1.3, and older ones are not safe: allow TLSv1.2 there",
    ),
    (
        ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"),
        "it does not speak TLS there: see schema.registry.url",
    ),
)


def tls_clause(text: str) -> str | None:
    """`text` is OpenSSL's; None where it is about something else."""
    for words, clause in _CLAUSES:
        if any(word in text for word in words):
            return clause
    return None
