"""Nodes of Cassandra 6.0 whose clocks are wrong."""

import shutil
from dataclasses import replace
from pathlib import Path

from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_java import jars
from tests.support.servers.java_sources import compiled

_SOURCE = Path(__file__).resolve().parents[1] / "java" / "ShiftedClock.java"


def shift_clock(node: CassandraNode, shift_s: int) -> None:
    """Adds so many seconds to the clock of a node that has not started yet."""
    classes = compiled([_SOURCE], jars(node.version))
    # The folder of the configuration is on the node's class path.
    shutil.copytree(classes, node.yaml.parent, dirs_exist_ok=True)
    options = (
        "-Dcassandra.clock=cdcsidecar.ShiftedClock",
        f"-Dcdcsidecar.clock.shift_ms={shift_s * 1000}",
    )
    node.settings = replace(node.settings, jvm_options=(*node.settings.jvm_options, *options))
