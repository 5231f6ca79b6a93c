"""Ends a command line after an error: one message and an exit code."""

import sys
import traceback
from typing import NoReturn

from sidecar.errors import ConfigError, SidecarError

EXIT_FAULT = 1


def exit_with(
    error: BaseException,
    command: str,
    *,
    is_debugging: bool,
    expected: tuple[type[BaseException], ...] = (),
) -> NoReturn:
    """Print the error on stderr and end the process; with a traceback only with `--debug`.

    `expected` are further exceptions whose messages are complete for the user.
    """
    is_expected = isinstance(error, (SidecarError, OSError, *expected))
    if is_debugging:
        traceback.print_exception(error)
    for sentence in _sentences(error, is_expected):
        print(f"{command}: {sentence}", file=sys.stderr)
    if not is_debugging and not is_expected:
        print(f"{command}: run it with --debug for the traceback.", file=sys.stderr)
    sys.exit(exit_code(error))


def exit_code(error: BaseException) -> int:
    """2 configuration, 3 locked, 4 access denied, else 1 (`sidecar.errors`)."""
    return error.exit_code if isinstance(error, SidecarError) else EXIT_FAULT


def _sentences(error: BaseException, is_expected: bool) -> list[str]:
    if isinstance(error, ConfigError):
        return list(error.problems)
    if isinstance(error, OSError) and error.filename is not None:
        return [f"{error.filename}: {error.strerror}."]
    if is_expected:
        return [str(error)]
    return [f"Unexpected error: {type(error).__name__}: {error}"]
