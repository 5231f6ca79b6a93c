"""What can go wrong in the harness.

HarnessError
├── MissingToolError     a Java runtime or Maven is not there and could not be had
├── ServerFailedError    a server ended, or did not get ready within its deadline
└── ToolFailedError      a command of the harness ended with an error
"""


class HarnessError(Exception):
    """Base of everything the harness raises on purpose."""


class MissingToolError(HarnessError):
    """A prerequisite is missing; the message says how to get it."""


class ServerFailedError(HarnessError):
    """A server ended or did not become ready; the message carries the end of its log."""


class ToolFailedError(HarnessError):
    """A command ended with a non-zero exit status; the message carries its output."""
