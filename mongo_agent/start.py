"""Where the command `mongo-agent` begins: ready for SIGTERM before anything large is imported."""

from typing import NoReturn

from sidecar.process import deferred_sigterm
from sidecar.process.privacy import forget_working_directory


def main() -> NoReturn:
    """Runs the command line of this process."""
    deferred_sigterm.defer()
    forget_working_directory()
    from mongo_agent.cli import main as run_command_line

    run_command_line()
