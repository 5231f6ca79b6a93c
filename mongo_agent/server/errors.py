"""Errors of MongoDB's server and driver as the agent reports them."""

from pymongo.errors import ConfigurationError, OperationFailure, PyMongoError

from mongo_agent.server.failures import Failure, classify_failure
from mongo_agent.server.tls_errors import tls_error
from sidecar.errors import AccessDeniedError, ConfigError, SidecarError, UnavailableError


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
