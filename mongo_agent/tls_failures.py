"""What it means when TLS with a server does not come about, one sentence each with what to do.

OpenSSL tells the reason in its own words, which drivers repeat.
"""

_SHOW = (
    "set `mongodb.ssl.keystore`, `mongodb.ssl.certificate.path` or, in the connection string, "
    "`tlsCertificateKeyFile`"
)
_TRUST = (
    "name its authorities in `mongodb.ssl.truststore`, `mongodb.ssl.ca.path` or, in the connection "
    "string, `tlsCAFile`"
)
_REFUSED = (
    "MongoDB's server does not believe our certificate, that of `mongodb.ssl.keystore` or "
    "`mongodb.ssl.certificate.path`: use one that is valid and by an authority of its "
    "`net.tls.CAFile`."
)
_OTHER_NAME = (
    "The certificate of MongoDB's server names another host than the one that is connected to: "
    "name servers in `mongodb.hosts` or the connection string, and in the configuration of the "
    "replica set, as their certificates do, or set `mongodb.ssl.invalid.hostname.allowed=true`."
)
_SENTENCES = (
    (
        ("certificate has expired",),
        "The certificate of MongoDB's server has expired, or one of its authorities': renew it "
        "there (`net.tls.certificateKeyFile`), or see that this machine's clock is right.",
    ),
    (
        ("certificate is not yet valid",),
        "The certificate of MongoDB's server is not valid yet: see that this machine's clock and "
        "the server's are right.",
    ),
    (("Hostname mismatch", "IP address mismatch"), _OTHER_NAME),
    (
        ("CERTIFICATE_VERIFY_FAILED",),
        f"The certificate of MongoDB's server is by nobody that is trusted: {_TRUST}.",
    ),
    (
        ("ALERT_PROTOCOL_VERSION", "UNSUPPORTED_PROTOCOL"),
        "MongoDB's server speaks neither TLS 1.2 nor 1.3, and older ones are not safe: allow "
        "TLS1_2 there (`net.tls.disabledProtocols`).",
    ),
    (
        ("ALERT_CERTIFICATE_REQUIRED", "ALERT_HANDSHAKE_FAILURE"),
        f"MongoDB's server asks for a certificate of its clients: {_SHOW}.",
    ),
    (
        (
            "ALERT_UNKNOWN_CA",
            "ALERT_BAD_CERTIFICATE",
            "ALERT_CERTIFICATE_EXPIRED",
            "ALERT_CERTIFICATE_UNKNOWN",
            "ALERT_CERTIFICATE_REVOKED",
        ),
        _REFUSED,
    ),
)


def tls_sentence(said: str) -> str | None:
    """`said` is what the driver says; None where that is not about certificates."""
    for words, sentence in _SENTENCES:
        if any(word in said for word in words):
            return sentence
    return None
