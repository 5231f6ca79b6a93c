"""Where the command `mongo-agent` begins: ready for SIGTERM before anything large is imported."""

from typing import NoReturn

from sidecar import early_stop


def main() -> NoReturn:
    """Runs the command line of this process."""
    early_stop.hold()
    from mongo_agent.cli import main as run_command_line

    run_command_line()
