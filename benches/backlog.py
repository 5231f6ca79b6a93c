"""A backlog of finished segments published by each candidate into its own topic."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from benches.sampling import Observation, TopicCounter, observe
from benches.segments import WrittenSegments
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.debezium import DebeziumPeer
from tests.support.servers.errors import ServerFailedError
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.processes import free_port

PARTITIONS = 3
TABLE = "bench.events"


def run_agent(
    broker: KafkaBroker,
    segments: WrittenSegments,
    directory: Path,
    prefix: str,
    properties: Mapping[str, str] | None = None,
    topic_config: Mapping[str, str] | None = None,
) -> Observation:
    """Run the agent over a `cdc_raw` with these segments, in the new `directory`."""
    with agent_over(broker, segments, directory, prefix, properties, topic_config) as (
        pid,
        counter,
    ):
        return observe(pid, counter, broker, segments.mutations)


@contextmanager
def agent_over(
    broker: KafkaBroker,
    segments: WrittenSegments,
    directory: Path,
    prefix: str,
    properties: Mapping[str, str] | None = None,
    topic_config: Mapping[str, str] | None = None,
) -> Iterator[tuple[int, TopicCounter]]:
    """Start a candidate; return its pid and the counter of its events."""
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
        counted_topic(broker, prefix, topic_config) as counter,
        running_agent(directory, settings) as pid,
    ):
        yield pid, counter


@contextmanager
def running_agent(directory: Path, properties: Mapping[str, str]) -> Iterator[int]:
    """Start an agent with these properties and its own directories; return its pid."""
    for folder in (directory / "offsets", directory / "relocation"):
        folder.mkdir(parents=True)
    settings = {
        "offset.backing.store.dir": str(directory / "offsets"),
        "commit.log.relocation.dir": str(directory / "relocation"),
        "snapshot.mode": "never",
        "http.host": "127.0.0.1",
        "http.port": str(free_port()),
    } | dict(properties)
    file = directory / "cdc.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    program = str(Path(sys.executable).with_name("agent"))
    with (directory / "agent.log").open("wb") as log:
        agent = subprocess.Popen([program, "--config", str(file)], stdout=log, stderr=log)
    try:
        yield agent.pid
    finally:
        _end(agent)


def run_ceiling(broker: KafkaBroker, segments: WrittenSegments, prefix: str) -> Observation:
    """Publish the same number of the agent's messages by a bare loop."""
    words = ["-m", "benches.baseline", broker.bootstrap, prefix, str(PARTITIONS)]
    words += [str(segments.mutations), str(segments.schema), str(segments.segments[0])]
    with counted_topic(broker, prefix) as counter:
        loop = subprocess.Popen(
            [sys.executable, *words], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
        )
        try:
            return observe(loop.pid, counter, broker, segments.mutations)
        finally:
            _end(loop)


def run_debezium(
    broker: KafkaBroker,
    node: CassandraNode,
    segments: Sequence[Path],
    events: int,
    directory: Path,
    prefix: str,
) -> Observation:
    """Run Debezium over the node's `cdc_raw` with these segments; the node has their table."""
    link_segments(segments, node.cdc_raw)
    peer = DebeziumPeer(node, broker, directory, topic_prefix=prefix)
    with counted_topic(broker, prefix) as counter:
        peer.launch()
        try:
            pid = peer.pid
            if pid is None:
                raise ServerFailedError(f"Debezium did not start; see {peer.log_file}.")
            return observe(pid, counter, broker, events)
        finally:
            peer.kill()


@contextmanager
def counted_topic(
    broker: KafkaBroker, prefix: str, config: Mapping[str, str] | None = None
) -> Iterator[TopicCounter]:
    """The candidate's topic, deleted after the run."""
    topic = f"{prefix}.{TABLE}"
    broker.create_topic(topic, PARTITIONS, config)
    try:
        yield TopicCounter(broker, topic, PARTITIONS)
    finally:
        broker.admin().delete_topics([topic])[topic].result(60)


def link_segments(segments: Sequence[Path], raw: Path) -> None:
    """Put segments and their index files into a `cdc_raw`, as completed ones."""
    for segment in segments:
        index = segment.with_name(f"{segment.stem}_cdc.idx")
        offset = index.read_text().split("\n")[0]
        (raw / segment.name).unlink(missing_ok=True)
        os.link(segment, raw / segment.name)
        (raw / index.name).write_text(f"{offset}\nCOMPLETED")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
