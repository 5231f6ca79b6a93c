"""Cassandra's own `nodetool` and `sstableloader`, without their scripts."""

import subprocess
from pathlib import Path

from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_java import jars, module_options
from tests.support.servers.errors import ToolFailedError
from tests.support.servers.java import java
from tests.support.servers.processes import DEADLINE_S

_TOOLS = "org.apache.cassandra.tools"


def nodetool(node: CassandraNode, *arguments: str) -> str:
    """Runs `nodetool` on a node; returns its output. Raises ToolFailedError."""
    return _run(node, f"{_TOOLS}.NodeTool", "-p", str(node.address.jmx_port), *arguments)


def sstableloader(node: CassandraNode, directory: Path) -> str:
    """Streams the sstables of `…/KEYSPACE/TABLE` into the cluster of a node."""
    address = node.address
    return _run(
        node,
        f"{_TOOLS}.BulkLoader",
        *("-f", str(node.yaml), "-d", address.host, "-p", str(address.cql_port)),
        *("--storage-port", str(address.storage_port), str(directory)),
    )


def _run(node: CassandraNode, main_class: str, *arguments: str) -> str:
    configuration = node.yaml.parent
    properties = {
        "user.home": str(node.directory),
        "java.net.preferIPv4Stack": "true",
        "cassandra.config": node.yaml.as_uri(),
        "cassandra.storagedir": str(node.directory),
        "logback.configurationFile": (configuration / "logback.xml").as_uri(),
    }
    command = [
        *(str(java(17)), "-Xmx256m", "-XX:TieredStopAtLevel=1", *module_options()),
        *(f"-D{name}={value}" for name, value in properties.items()),
        *("-cp", f"{configuration}:{jars(node.version)}/*", main_class, *arguments),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=DEADLINE_S)
    if done.returncode != 0:
        output = (done.stdout + done.stderr).strip()
        raise ToolFailedError(f"{main_class} {' '.join(arguments)} failed:\n{output}")
    return done.stdout
