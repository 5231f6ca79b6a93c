"""Entry point of the command `mongo-agent`; defers SIGTERM before large imports."""

import sys
from typing import NoReturn

from sidecar.errors import ConfigError
from sidecar.process import deferred_sigterm
from sidecar.process.extras import require_extra
from sidecar.process.privacy import forget_working_directory


def main() -> NoReturn:
    deferred_sigterm.defer()
    forget_working_directory()
    try:
        require_extra("mongo", "mongo-agent")
    except ConfigError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)
    from mongo_agent.cli.entry import main as run_command_line

    run_command_line()
