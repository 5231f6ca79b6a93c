"""Settings of `kafka.producer.*` that weaken security or delivery."""

from collections.abc import Iterator, Mapping

from sidecar.sinks.kafka.config.java_names import PREFIX

_MECHANISMS = ("GSSAPI", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
_LOGIN = (
    "sasl.mechanism",
    "sasl.mechanisms",
    "sasl.jaas.config",
    "sasl.username",
    "sasl.password",
    "sasl.oauthbearer.token.endpoint.url",
    "sasl.oauthbearer.config",
    "sasl.kerberos.keytab",
)
_TLS = (
    "ssl.truststore.location",
    "ssl.truststore.certificates",
    "ssl.keystore.location",
    "ssl.keystore.key",
    "ssl.ca.location",
    "ssl.ca.pem",
    "ssl.certificate.location",
    "ssl.certificate.pem",
    "ssl.key.location",
    "ssl.key.pem",
)


def unused_security(settings: Mapping[str, str]) -> Iterator[str]:
    """Yield a message for each login or certificate that the client would silently ignore.

    An explicit `security.protocol` takes precedence; see `safety_warnings`.
    """
    for name in ("sasl.mechanism", "sasl.mechanisms"):
        mechanism = settings.get(name)
        if mechanism is not None and mechanism.strip().upper() not in _MECHANISMS:
            yield f"`{PREFIX}{name}` must be one of {', '.join(_MECHANISMS)}, not `{mechanism}`."
    if settings.get("security.protocol") is not None:
        return
    login, tls = _first(settings, _LOGIN), _first(settings, _TLS)
    if login is not None:
        yield (
            f"`{PREFIX}{login}` is set without `{PREFIX}security.protocol`, so the connection "
            "would be plaintext and without a login. Set it to SASL_SSL or SASL_PLAINTEXT."
        )
    elif tls is not None:
        yield (
            f"`{PREFIX}{tls}` is set without `{PREFIX}security.protocol`, so the connection "
            "would be plaintext. Set it to SSL."
        )


def safety_warnings(settings: Mapping[str, str]) -> Iterator[str]:
    """Yield a warning for each setting that weakens delivery or security, with its consequence."""
    if _is_false(settings, "enable.idempotence"):
        yield (
            f"`{PREFIX}enable.idempotence=false`: after a lost acknowledgement the client resends "
            "events that the broker already has; only one request at a time is in flight."
        )
    if _is_false(settings, "enable.ssl.certificate.verification"):
        yield (
            f"`{PREFIX}enable.ssl.certificate.verification=false`: the client trusts any "
            "broker, without verifying its certificate."
        )
    if settings.get("ssl.endpoint.identification.algorithm", "https").strip().lower() in (
        "",
        "none",
    ):
        yield (
            f"`{PREFIX}ssl.endpoint.identification.algorithm` is off: a broker's certificate may "
            "be for any host."
        )
    protocol = settings.get("security.protocol", "").strip().lower()
    login, tls = _first(settings, _LOGIN), _first(settings, _TLS)
    if login is not None and protocol in ("plaintext", "ssl"):
        yield (
            f"`{PREFIX}{login}` has no effect with "
            f"`{PREFIX}security.protocol={protocol.upper()}`: the client sends no login."
        )
    if tls is not None and protocol in ("plaintext", "sasl_plaintext"):
        yield (
            f"`{PREFIX}{tls}` has no effect with `{PREFIX}security.protocol={protocol.upper()}`: "
            "the connection is not encrypted."
        )


def _first(settings: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((name for name in names if settings.get(name)), None)


def _is_false(settings: Mapping[str, str], name: str) -> bool:
    return settings.get(name, "true").strip().lower() == "false"
