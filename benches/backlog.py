"""Publishes a backlog of finished segments: each candidate uses a separate topic."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from benches.sampling import Observation, TopicCounter, observe
from benches.segments import WrittenSegments
from tests.support.servers.agent_process import AgentProcess
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.debezium import DebeziumPeer
from tests.support.servers.errors import ServerFailedError
from tests.support.servers.kafka import KafkaBroker

PARTITIONS = 3
TABLE = "bench.events"


@contextmanager
def agent_over(
    broker: KafkaBroker,
    segments: WrittenSegments,
    directory: Path,
    prefix: str,
    properties: Mapping[str, str] | None = None,
    topic_config: Mapping[str, str] | None = None,
) -> Iterator[tuple[int, TopicCounter]]:
    """Start an agent in the new `directory`, on a `cdc_raw` with these segments.

    Yields its pid and a counter of its events.
    """
    raw = directory / "cdc_raw"
    raw.mkdir(parents=True)
    link_segments(segments.segments, raw)
    settings = {
        "topic.prefix": prefix,
        "kafka.producer.bootstrap.servers": broker.bootstrap,
        "cdc.raw.directory": str(raw),
        "schema.file": str(segments.schema),
        "cluster.name": "bench",
        "node.id": "bench",
    } | dict(properties or {})
    with (
        counted_topic(broker, f"{prefix}.{TABLE}", topic_config) as counter,
        running_agent(directory, settings) as pid,
    ):
        yield pid, counter


@contextmanager
def running_agent(
    directory: Path, properties: Mapping[str, str], program: str = "agent"
) -> Iterator[int]:
    """Start an agent with these properties and new directories; yield its pid."""
    settings = {"offset.backing.store.dir": directory / "offsets", **properties}
    if program == "agent":
        own = {"commit.log.relocation.dir": directory / "relocation", "snapshot.mode": "never"}
        settings = own | settings
    for folder in ("offsets", "relocation"):
        (directory / folder).mkdir(parents=True)
    agent = AgentProcess(program, directory, settings)
    agent.launch()
    try:
        assert agent.pid is not None
        yield agent.pid
    finally:
        agent.end()


def run_baseline(broker: KafkaBroker, segments: WrittenSegments, prefix: str) -> Observation:
    """Publish the agent's messages in a bare loop, one for each mutation."""
    words = ["benches.baseline", broker.bootstrap, prefix, str(PARTITIONS)]
    words += [str(segments.mutations), str(segments.schema), str(segments.segments[0])]
    return run_loop(broker, f"{prefix}.{TABLE}", segments.mutations, words)


def run_loop(broker: KafkaBroker, topic: str, events: int, words: Sequence[str]) -> Observation:
    """Run a module (`words`: its name and arguments) that publishes `events` messages."""
    with (
        counted_topic(broker, topic) as counter,
        subprocess.Popen(
            [sys.executable, "-m", *words], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
        ) as loop,
    ):
        try:
            return observe(loop.pid, counter, broker, events)
        finally:
            loop.kill()


def run_debezium(
    broker: KafkaBroker,
    node: CassandraNode,
    segments: Sequence[Path],
    events: int,
    directory: Path,
    prefix: str,
    properties: Mapping[str, str] | None = None,
) -> Observation:
    """Link the segments into the node's `cdc_raw` and run Debezium; the table must exist."""
    link_segments(segments, node.cdc_raw)
    peer = DebeziumPeer(node, broker, directory, topic_prefix=prefix, properties=properties)
    with counted_topic(broker, f"{prefix}.{TABLE}") as counter:
        peer.launch()
        try:
            if peer.pid is None:
                raise ServerFailedError(f"Debezium did not start; see {peer.log_file}.")
            return observe(peer.pid, counter, broker, events)
        finally:
            peer.kill()


@contextmanager
def counted_topic(
    broker: KafkaBroker, topic: str, config: Mapping[str, str] | None = None
) -> Iterator[TopicCounter]:
    """Create a topic for one candidate, and delete it after the run."""
    broker.create_topic(topic, PARTITIONS, config)
    try:
        yield TopicCounter(broker, topic, PARTITIONS)
    finally:
        broker.admin().delete_topics([topic])[topic].result(60)


def link_segments(segments: Sequence[Path], raw: Path) -> None:
    """Link segments into a `cdc_raw`, and mark each as completed in its index file."""
    for segment in segments:
        index = segment.with_name(f"{segment.stem}_cdc.idx")
        offset = index.read_text().split("\n")[0]
        (raw / segment.name).unlink(missing_ok=True)
        os.link(segment, raw / segment.name)
        (raw / index.name).write_text(f"{offset}\nCOMPLETED")
