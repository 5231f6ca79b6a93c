"""Entry point of the command `mongo-agent`; handles SIGTERM before large imports."""

from typing import NoReturn

from sidecar.process import deferred_sigterm
from sidecar.process.privacy import forget_working_directory


def main() -> NoReturn:
    """Run the command line."""
    deferred_sigterm.defer()
    forget_working_directory()
    from mongo_agent.cli import main as run_command_line

    run_command_line()
