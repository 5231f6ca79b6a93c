"""`make demo-live`: a real Cassandra 5.0, a real Kafka, and the agent between them.

The demo writes with cassandra-driver, and reads the events from the topics as they arrive.
"""

import json
import shutil
import sys
import time
from contextlib import closing
from pathlib import Path

from confluent_kafka import Consumer, Message
from rich.console import Console
from rich.table import Table

from examples.agent_process import AgentProcess, DemoError
from examples.live.writes import EVENTS, SCHEMA, WRITES
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.errors import HarnessError
from tests.support.servers.kafka import KafkaBroker

OUTPUT = Path("demo-output") / "live"
TOPICS = ("live.shop.orders", "live.shop.audit")
_SYNC_MS = 100
_DEADLINE_S = 300.0


def main() -> int:
    console = Console()
    try:
        demo(console)
    except (DemoError, HarnessError) as error:
        console.print(f"[bold red]The demo failed:[/] {error}", highlight=False)
        return 1
    return 0


def demo(console: Console) -> None:
    """Run the demo. Raises `DemoError` and `HarnessError`."""
    console.rule("[bold]cdc-sidecar: a real node, a real broker")
    shutil.rmtree(OUTPUT, ignore_errors=True)
    for folder in ("offsets", "relocation"):
        (OUTPUT / folder).mkdir(parents=True)
    settings = NodeSettings(cluster_name="live", commitlog_sync_period_ms=_SYNC_MS)
    broker = KafkaBroker((OUTPUT / "kafka").resolve())
    node = CassandraNode(OUTPUT / "node", settings=settings)
    with console.status("Starting Kafka (the first time it is fetched from Maven Central) …"):
        broker.start()
    try:
        console.print(f"Kafka listens on {broker.bootstrap}.", highlight=False)
        with console.status("Starting Cassandra 5.0 …"):
            node.start()
        try:
            where = f"{node.address.host}:{node.address.cql_port}"
            console.print(f"Cassandra {node.version} serves CQL on {where}.", highlight=False)
            publish(console, node, broker)
        finally:
            node.stop()
    finally:
        broker.stop()
    console.print(f"All servers are stopped. Logs, configuration and offsets are in {OUTPUT}.")


def publish(console: Console, node: CassandraNode, broker: KafkaBroker) -> None:
    """Write rows, and print the events as they arrive."""
    for statement in SCHEMA:
        node.execute(statement)
    for topic in TOPICS:
        broker.create_topic(topic, partitions=3)
    agent = AgentProcess(
        ["--config", str(configuration(node, broker))], OUTPUT / "agent.log", preferred_port=8000
    )
    with agent, closing(subscribed(broker)) as consumer:
        with console.status("The agent starts …"):
            agent.wait_until("Starting the agent", lambda: is_well(agent), _DEADLINE_S)
        console.print(f"The agent is healthy: {agent.url}/health\n", highlight=False)
        for statement in WRITES:
            node.execute(statement)
            console.print(f"[dim]cqlsh>[/] {statement};", highlight=False)
        console.print()
        show(console, receive(consumer, agent))
        exit_code = agent.stop()
    if exit_code != 0:
        raise DemoError(f"The agent ended with exit code {exit_code}.\n{agent.log_tail()}")
    console.print("The agent stopped on SIGTERM with exit code 0.")


def configuration(node: CassandraNode, broker: KafkaBroker) -> Path:
    """Write the properties file for this node."""
    path = OUTPUT / "cdc.properties"
    path.write_text(
        f"topic.prefix=live\n"
        f"cassandra.config={node.yaml}\n"
        f"kafka.producer.bootstrap.servers={broker.bootstrap}\n"
        f"kafka.producer.linger.ms=5\n"
        f"commit.log.relocation.dir={OUTPUT / 'relocation'}\n"
        f"offset.backing.store.dir={OUTPUT / 'offsets'}\n"
        f"snapshot.mode=never\n"
        f"http.host=127.0.0.1\n"
    )
    return path


def is_well(agent: AgentProcess) -> bool:
    health = agent.health()
    return health is not None and health.ok


def subscribed(broker: KafkaBroker) -> Consumer:
    """Create a consumer with assigned partitions, so that latency excludes the assignment."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "demo",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe(list(TOPICS))
    end_s = time.monotonic() + _DEADLINE_S
    while not consumer.assignment():
        if time.monotonic() > end_s:
            raise DemoError("The broker assigned no partitions to the demo's consumer.")
        consumer.poll(0.1)
    return consumer


def receive(consumer: Consumer, agent: AgentProcess) -> list[tuple[float, Message]]:
    """Receive all events, each with the seconds from its write to its arrival."""
    arrived: list[tuple[float, Message]] = []
    end_s = time.monotonic() + _DEADLINE_S
    while len(arrived) < EVENTS:
        if time.monotonic() > end_s:
            raise DemoError(f"Only {len(arrived)} of {EVENTS} events arrived.\n{agent.log_tail()}")
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            arrived.append((time.time() - write_time_s(message), message))
    return arrived


def write_time_s(message: Message) -> float:
    """The client's write time."""
    return int(header(message, "cdc.ts_us")) / 1e6


def header(message: Message, name: str) -> str:
    """Return a text header of an event."""
    headers = message.headers() or ()
    for key, value in headers.items() if isinstance(headers, dict) else headers:
        if key == name and value is not None:
            return value.decode() if isinstance(value, bytes) else value
    raise DemoError(f"An event has no header {name}.")


def show(console: Console, arrived: list[tuple[float, Message]]) -> None:
    table = Table("seconds", "topic", "op", "kind", "key", title="Events and their latency")
    for seconds, message in arrived:
        key, value = message.key(), message.value()
        assert key is not None
        assert value is not None
        table.add_row(
            f"{seconds:.2f}",
            str(message.topic()),
            json.loads(value)["op"],
            header(message, "cdc.kind"),
            key.decode() if isinstance(key, bytes) else key,
        )
    console.print(table)


if __name__ == "__main__":
    sys.exit(main())
