"""How a command line ends when something is wrong: one sentence and an exit code."""

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
    """Says what is wrong on stderr and ends the process; a traceback comes only with `--debug`.

    `expected` are errors of the agent's own whose messages are written for people.
    """
    is_expected = isinstance(error, (SidecarError, OSError, *expected))
    if is_debugging:
        traceback.print_exception(error)
    for sentence in _sentences(error, is_expected):
        print(f"{command}: {sentence}", file=sys.stderr)
    if not is_debugging and not is_expected:
        print(f"{command}: --debug before the command shows where.", file=sys.stderr)
    sys.exit(exit_code(error))


def exit_code(error: BaseException) -> int:
    """2 configuration, 3 locked, 4 refused, else 1 (`sidecar.errors`)."""
    return error.exit_code if isinstance(error, SidecarError) else EXIT_FAULT


def _sentences(error: BaseException, is_expected: bool) -> list[str]:
    if isinstance(error, ConfigError):
        return list(error.problems)
    if isinstance(error, OSError) and error.filename is not None:
        return [f"{error.filename}: {error.strerror}."]
    if is_expected:
        return [str(error)]
    return [f"An unexpected fault: {type(error).__name__}: {error}"]
