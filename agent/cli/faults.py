"""How the command line ends when something is wrong: one sentence and an exit code."""

import sys
import traceback
from typing import NoReturn

from commitlog import CommitLogError
from sidecar.errors import ConfigError, SidecarError

EXIT_FAULT = 1


def exit_with(error: BaseException, *, is_debugging: bool) -> NoReturn:
    """Says what is wrong on stderr and ends the process; a traceback comes only with `--debug`."""
    if is_debugging:
        traceback.print_exception(error)
    for sentence in sentences(error):
        print(f"agent: {sentence}", file=sys.stderr)
    if not is_debugging and not is_expected(error):
        print("agent: --debug before the command shows where.", file=sys.stderr)
    sys.exit(exit_code(error))


def sentences(error: BaseException) -> list[str]:
    """What a person reads about an error."""
    if isinstance(error, ConfigError):
        return list(error.problems)
    if isinstance(error, OSError) and error.filename is not None:
        return [f"{error.filename}: {error.strerror}."]
    if is_expected(error):
        return [str(error)]
    return [f"An unexpected fault: {type(error).__name__}: {error}"]


def is_expected(error: BaseException) -> bool:
    """Whether the error has a message that is written for people."""
    return isinstance(error, (SidecarError, CommitLogError, OSError))


def exit_code(error: BaseException) -> int:
    """2 configuration, 3 locked, 4 refused, else 1 (`sidecar.errors`)."""
    return error.exit_code if isinstance(error, SidecarError) else EXIT_FAULT
