"""Entry point of the command `agent`: handles SIGTERM before it imports large modules."""

from typing import NoReturn

from sidecar.process import deferred_sigterm
from sidecar.process.privacy import forget_working_directory


def main() -> NoReturn:
    """Runs the command line of this process."""
    deferred_sigterm.defer()
    forget_working_directory()
    from agent.cli.entry import main as run_command_line

    run_command_line()
