"""Classification and reporting of errors from MongoDB's server and driver."""

from enum import Enum

from pymongo.errors import ConfigurationError, OperationFailure, PyMongoError

from sidecar.errors import AccessDeniedError, ConfigError, SidecarError, UnavailableError
from sidecar.tls.failures import TlsServer, tls_failure

RESUMABLE_LABELS = ("ResumableChangeStreamError", "SystemOverloadedError")
"""Labels of temporary failures, and of servers that reject requests under load (since 9.0)."""
LOST_LABEL = "NonResumableChangeStreamError"
"""The server can never resume the stream, for instance because a shard was removed."""
_RESUMABLE_CODES = frozenset(
    {6, 7, 43, 63, 89, 91, 133, 150, 189, 234, 262, 9001, 10107, 11600, 11602, 13388, 13435, 13436}
)
# Codes of wrong credentials and missing privileges.
_AUTHENTICATION, _AUTHORISATION = {11, 18, 334}, {13, 8000}
MEMORY_LIMIT_CODES = frozenset({146, 292})
"""An operation needs more memory than MongoDB 9.0 allows each one."""
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


class Failure(Enum):
    """Error classes, each with one policy."""

    RESUMABLE = "resumable"
    """An election or a lost connection: reopen the stream after the last event."""
    AUTHENTICATION = "authentication"
    """Wrong credentials: a retry would lock the account."""
    AUTHORISATION = "authorisation"
    """A missing privilege: retry, because an operator may grant it."""
    HISTORY_LOST = "history lost"
    """The oplog no longer contains the position: `history.lost.policy` decides."""
    FILTERED_TOKEN = "filtered token"
    """The pipeline removes the event of the token: reopen once by cluster time."""
    TOO_LARGE = "too large"
    """An event exceeds the document limit: reopen with split events."""
    MEMORY_LIMIT = "memory limit"
    """The operation exceeds the server's memory limit: reopen with one event a reply."""
    INVALID_TOKEN = "invalid token"
    """The token has an unknown format or belongs to a different cluster."""
    NOT_SUPPORTED = "not supported"
    """The server has no change streams: a standalone, or a different database."""
    OTHER = "other"
    """Retry a limited number of times with growing pauses."""


_BY_CODE = {
    20: Failure.NOT_SUPPORTED,
    40573: Failure.NOT_SUPPORTED,
    260: Failure.INVALID_TOKEN,
    280: Failure.FILTERED_TOKEN,
    532: Failure.FILTERED_TOKEN,
    286: Failure.HISTORY_LOST,
    10334: Failure.TOO_LARGE,
    **dict.fromkeys(MEMORY_LIMIT_CODES, Failure.MEMORY_LIMIT),
    **dict.fromkeys(_AUTHENTICATION, Failure.AUTHENTICATION),
    **dict.fromkeys(_AUTHORISATION, Failure.AUTHORISATION),
}


def classify_failure(error: PyMongoError) -> Failure:
    """Classify an error by its code, then by the labels that a server adds to newer codes."""
    if not isinstance(error, OperationFailure) or error.code is None:
        return Failure.RESUMABLE
    known = _BY_CODE.get(error.code)
    if known is not None:
        return known
    if error.has_error_label(LOST_LABEL):
        return Failure.HISTORY_LOST
    is_temporary = any(error.has_error_label(each) for each in RESUMABLE_LABELS)
    if is_temporary or error.code in _RESUMABLE_CODES:
        return Failure.RESUMABLE
    return Failure.OTHER


def server_error(error: PyMongoError) -> SidecarError:
    """Convert a driver error to an error with a retry policy and a remedy."""
    if isinstance(error, ConfigurationError):
        return ConfigError(f"MongoDB: the driver rejects the configuration: {error}.")
    failure = classify_failure(error)
    if failure is Failure.AUTHENTICATION:
        return AccessDeniedError(authentication_message(error_text(error)))
    if failure is Failure.AUTHORISATION:
        return AccessDeniedError(authorisation_message(error_text(error)))
    tls = None if isinstance(error, OperationFailure) else tls_error(str(error))
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
    """Format an error without the server's reply and the topology, and explain TLS errors."""
    details = getattr(error, "details", None)
    text = str(details["errmsg"] if details and "errmsg" in details else error)
    text = tls_error(text) or text
    return text.partition(", Timeout: ")[0].rstrip(".")


def tls_error(text: str) -> str | None:
    """Explain an error text of the driver about certificates or protocols, else return None."""
    clause = tls_failure(text, _SERVER)
    return None if clause is None else f"{clause[0].upper()}{clause[1:]}."
