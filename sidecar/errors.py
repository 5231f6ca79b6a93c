"""Errors of the sidecar, each with its policy and the exit code of a process that ends by it.

    SidecarError                 STOP   1
    ├── ConfigError              STOP   2   a property, file, port or directory is not as it must be
    ├── LockedError              STOP   3   another instance works in this one's place
    ├── RefusedError             STOP   4   a component refuses us: authentication, authorisation
    ├── UnavailableError         WAIT   1   a component is away and is expected to come back
    ├── OffsetStoreError         STOP   1   stored progress cannot be read
    │   └── OffsetSaveError      RETRY  1   progress cannot be written; delivery may go on
    └── SinkError                STOP   1   a sink cannot go on
        └── SinkRestartError     RETRY  1   a sink goes on when it starts at the watermark

The message of an error is one or two sentences for a person: what happened, where, what to do.
"""

from enum import Enum
from typing import ClassVar


class Policy(Enum):
    """What the part that meets an error does about it."""

    WAIT = "wait"
    """Keep trying, say so, lose nothing."""
    RETRY = "retry"
    """Do the failed step again, with growing pauses."""
    QUARANTINE = "quarantine"
    """Set the object aside with its reason and go on with the next one."""
    STOP = "stop"
    """End the process with the exit code of the error."""


EXIT_STOPPED = 0
"""Exit code of a process that was asked to stop."""


class SidecarError(Exception):
    """Root of the tree."""

    policy: ClassVar[Policy] = Policy.STOP
    exit_code: ClassVar[int] = 1


class ConfigError(SidecarError):
    """The configuration cannot be used.

    `problems` holds one sentence for each mistake; the message is all of them, a line each.
    """

    exit_code = 2

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class LockedError(SidecarError):
    """Another instance has what only one may have: a directory, or a transactional id. The message
    names it."""

    exit_code = 3


class RefusedError(SidecarError):
    """A component refuses this client; the message names the component and its reason."""

    exit_code = 4


class UnavailableError(SidecarError):
    """A component does not answer; the message names it and since when."""

    policy = Policy.WAIT


class OffsetStoreError(SidecarError):
    """Neither the offset file nor its previous copy can be used."""


class OffsetSaveError(OffsetStoreError):
    """The offset file could not be written; the one before it is untouched."""

    policy = Policy.RETRY


class SinkError(SidecarError):
    """A sink cannot go on, and starting again would not help."""


class SinkRestartError(SinkError):
    """The sink lost events or their order: close it, open it, send again from the watermark."""

    policy = Policy.RETRY
