"""Errors of MongoDB's server and driver as the agent reports them."""

from pymongo.errors import ConfigurationError, OperationFailure, PyMongoError

from mongo_agent.server.failures import Failure, classify_failure
from sidecar.errors import AccessDeniedError, ConfigError, SidecarError, UnavailableError
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


def server_error(error: PyMongoError) -> SidecarError:
    """Convert a driver error to an error with a retry policy and a remedy."""
    if isinstance(error, ConfigurationError):
        return ConfigError(f"MongoDB: the driver rejects the configuration: {error}.")
    code = error.code if isinstance(error, OperationFailure) else None
    failure = classify_failure(code)
    if failure is Failure.AUTHENTICATION:
        return AccessDeniedError(authentication_message(error_text(error)))
    if failure is Failure.AUTHORISATION:
        return AccessDeniedError(authorisation_message(error_text(error)))
    tls = tls_error(str(error)) if code is None else None
    if tls is not None:
        return ConfigError(tls)
    return UnavailableError(
        f"MongoDB does not answer: {error_text(error)}. Start it, or correct `mongodb.hosts` or "
        "`mongodb.connection.string`."
    )


def authentication_message(reason: str) -> str:
    return (
        f"MongoDB rejects the login: {reason}. Correct `mongodb.user`, `mongodb.password` and "
        "`mongodb.authsource`."
    )


def authorisation_message(reason: str) -> str:
    return (
        f"The MongoDB user lacks a privilege: {reason}. Run `mongo-agent check`; it prints the "
        "command that grants it."
    )


def error_text(error: PyMongoError) -> str:
    """The error message without the server's reply and the topology; TLS errors are explained."""
    details = getattr(error, "details", None)
    text = str(details["errmsg"] if details and "errmsg" in details else error)
    text = tls_error(text) or text
    return text.partition(", Timeout: ")[0].rstrip(".")


def tls_error(text: str) -> str | None:
    """Explain the driver's error text; None unless it is about certificates or protocols."""
    clause = tls_failure(text, _SERVER)
    return None if clause is None else f"{clause[0].upper()}{clause[1:]}."
