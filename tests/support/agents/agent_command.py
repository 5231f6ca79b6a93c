"""Runs the command `agent` as a person does, in a process of its own."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.servers.processes import DEADLINE_S

AGENT = Path(sys.executable).with_name("agent")


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    exit_code: int
    output: str
    errors: str


def agent(*arguments: str | Path, cwd: Path | None = None, prefix: Sequence[str] = ()) -> Outcome:
    """Runs to the end; for commands that end by themselves. `prefix` starts it, as another user for
    instance."""
    done = subprocess.run(
        [*prefix, str(AGENT), *map(str, arguments)],
        capture_output=True,
        cwd=cwd,
        timeout=DEADLINE_S,
        check=False,
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())
