"""Operations of a running node, as `nodetool` calls them, without its scripts."""

import subprocess
from collections.abc import Sequence

from tests.support.servers.errors import ToolFailedError
from tests.support.servers.java import java
from tests.support.servers.java_sources import jmx_classes


def invoke_operation(
    port: int, object_name: str, operation: str, first: str, rest: Sequence[str]
) -> str:
    """Call `operation(first, rest)` of a managed object on the loopback; returns its output."""
    command = [str(java(17)), "-Xmx64m", "--add-modules", "java.management.rmi"]
    command += ["--add-exports", "java.management.rmi/javax.management.remote.rmi=ALL-UNNAMED"]
    command += ["-cp", str(jmx_classes()), "cdcsidecar.reader.Jmx"]
    command += [str(port), object_name, operation, first, *rest]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ToolFailedError(f"{operation} of {object_name} failed:\n{done.stderr.strip()}")
    return done.stdout
