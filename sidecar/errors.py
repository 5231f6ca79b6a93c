"""Errors of the agents, each with its policy and exit code.

    SidecarError                 STOP   1
    ├── ConfigError              STOP   2   a property, file, port or directory is invalid
    ├── LockedError              STOP   3   another instance holds the lock
    ├── AccessDeniedError        STOP   4   a component denies access: authentication, authorization
    ├── UnavailableError         WAIT   1   a component does not answer at present
    ├── OffsetStoreError         STOP   1   stored offsets cannot be read
    │   └── OffsetSaveError      RETRY  1   offsets cannot be written; delivery continues
    └── SinkError                STOP   1   a sink has failed
        └── SinkRestartError     RETRY  1   a sink can restart from the watermark

A message has one or two sentences: what failed, where, and what to do. Exit codes 5 to 8 belong to
single commands (docs/reference/command-line.md).
"""

from enum import Enum
from typing import ClassVar


class Policy(Enum):
    WAIT = "wait"
    """Retry until it succeeds, and report it; nothing is lost."""
    RETRY = "retry"
    """Retry the failed step with back-off."""
    QUARANTINE = "quarantine"
    """Quarantine the object with the reason, and continue with the next one."""
    STOP = "stop"
    """Exit the process with the error's exit code."""


EXIT_STOPPED = 0
"""Exit code of a requested stop."""


class SidecarError(Exception):
    """Base class of the agents' errors."""

    policy: ClassVar[Policy] = Policy.STOP
    exit_code: ClassVar[int] = 1


class ConfigError(SidecarError):
    """The configuration cannot be used.

    `problems` contains one message per mistake; the error's message joins them with line breaks.
    """

    exit_code = 2

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class LockedError(SidecarError):
    """Another instance uses an exclusive resource: a directory or a transactional id. The message
    names it."""

    exit_code = 3


class AccessDeniedError(SidecarError):
    """A component denies access; the message names the component and its reason."""

    exit_code = 4


class UnavailableError(SidecarError):
    """A component does not answer; the message names it."""

    policy = Policy.WAIT


class OffsetStoreError(SidecarError):
    """Neither the offset file nor its previous copy is readable."""


class OffsetSaveError(OffsetStoreError):
    """The offset file could not be written; the previous file is unchanged."""

    policy = Policy.RETRY


class SinkError(SidecarError):
    """A sink has failed, and a restart would not help."""


class SinkRestartError(SinkError):
    """The sink lost events or their order: close it, open it, resend from the watermark."""

    policy = Policy.RETRY
