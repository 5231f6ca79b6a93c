"""Where the command `mongo-agent` begins: ready for SIGTERM before anything large is imported."""

from typing import NoReturn

from sidecar import early_stop
from sidecar.process_privacy import forget_working_directory


def main() -> NoReturn:
    """Runs the command line of this process."""
    early_stop.hold()
    forget_working_directory()
    from mongo_agent.cli import main as run_command_line

    run_command_line()
