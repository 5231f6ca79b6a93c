"""Errors that a member answers a command with, by the server's codes and names."""

from collections.abc import Sequence
from typing import Any

CODE_NAMES = {
    1: "InternalError",
    2: "BadValue",
    9: "FailedToParse",
    11: "UserNotFound",
    13: "Unauthorized",
    14: "TypeMismatch",
    16: "InvalidLength",
    18: "AuthenticationFailed",
    20: "IllegalOperation",
    23: "AlreadyInitialized",
    24: "LockTimeout",
    26: "NamespaceNotFound",
    43: "CursorNotFound",
    47: "NoMatchingDocument",
    48: "NamespaceExists",
    50: "MaxTimeMSExpired",
    59: "CommandNotFound",
    64: "WriteConcernFailed",
    66: "ImmutableField",
    70: "ShardNotFound",
    72: "InvalidOptions",
    73: "InvalidNamespace",
    79: "UnknownReplWriteConcern",
    91: "ShutdownInProgress",
    100: "UnsatisfiableWriteConcern",
    112: "WriteConflict",
    118: "NamespaceNotSharded",
    136: "CappedPositionLost",
    146: "ExceededMemoryLimit",
    166: "CommandNotSupportedOnView",
    167: "OptionNotSupportedOnView",
    189: "PrimarySteppedDown",
    217: "IncompleteTransactionHistory",
    225: "TransactionTooOld",
    237: "CursorKilled",
    239: "SnapshotTooOld",
    246: "SnapshotUnavailable",
    251: "NoSuchTransaction",
    260: "InvalidResumeToken",
    262: "ExceededTimeLimit",
    263: "OperationNotSupportedInTransaction",
    267: "PreparedTransactionInProgress",
    280: "ChangeStreamFatalError",
    286: "ChangeStreamHistoryLost",
    10107: "NotWritablePrimary",
    10334: "BSONObjectTooLarge",
    11000: "DuplicateKey",
    11600: "InterruptedAtShutdown",
    11601: "Interrupted",
    11602: "InterruptedDueToReplStateChange",
    13435: "NotPrimaryNoSecondaryOk",
    40324: "Location40324",
    40415: "Location40415",
}
# A member that is no primary, or goes; a client looks at the topology again.
STATE_CHANGES = {91, 189, 10107, 11600, 11602, 13435, 13436}

DIRECT_IS_REFUSED = (
    "You are connecting to a sharded cluster improperly by connecting directly to a shard. Please "
    "connect to the cluster via a router (mongos)."
)


class CommandError(Exception):
    """A command fails with `code`. `labels` replace the labels that the member would add.

    `is_injected` says that a fail point made it: such a reply has no topology version.
    """

    def __init__(
        self,
        code: int,
        message: str,
        labels: Sequence[str] | None = None,
        *,
        is_injected: bool = False,
    ) -> None:
        super().__init__(message)
        self.is_injected = is_injected
        self.code = code
        self.message = message
        self.labels = labels

    def reply(self) -> dict[str, Any]:
        """The body of the answer."""
        return {
            "ok": 0.0,
            "errmsg": self.message,
            "code": self.code,
            "codeName": CODE_NAMES.get(self.code, f"Location{self.code}"),
        }


class ConnectionDroppedError(Exception):
    """The member closes the connection instead of an answer."""
