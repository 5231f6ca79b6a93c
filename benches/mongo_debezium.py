"""Debezium's MongoDB connector over a backlog of inserts into a real broker: CPU time an event.

It runs embedded, with the settings of its documentation and a producer as a Connect worker has it.
The server is the replica set of the tests, a process of its own: what it can give bounds the events
a second, so these are no measure of the connector; its CPU time is.
"""

from collections.abc import Mapping
from pathlib import Path

from benches.machine import machine
from benches.mongo_server import COLLECTION, DATABASE, MongoBacklog, running_server
from benches.paths import scratch_directory
from benches.progress import progress_bar
from benches.sampling import Observation, TopicCounter, observe
from benches.stats import Spread, print_table, write_result
from tests.oracle.debezium_mongodb.engines import VERSION, EmbeddedEngines
from tests.support.servers.kafka import KafkaBroker

EVENTS, QUICK_EVENTS = 200_000, 20_000
PARTITIONS = 3
_PRODUCER = {"acks": "all", "enable.idempotence": "true", "linger.ms": "5"}


def run(is_quick: bool) -> None:
    rounds = 1 if is_quick else 3
    at_start = machine()
    events = QUICK_EVENTS if is_quick else EVENTS
    seen = []
    with (
        scratch_directory("mongo_debezium") as scratch,
        KafkaBroker(scratch / "kafka", heap_mib=1024) as broker,
        running_server(events) as server,
        progress_bar("publishing", rounds) as step,
    ):
        for number in range(rounds):
            here = scratch / f"round-{number}"
            seen.append(run_debezium(broker, server, here, f"debezium-{number}"))
            step()
    figures = {
        "events a second": Spread.of([each.steady.events_per_s for each in seen]),
        "CPU µs an event": Spread.of([each.steady.cpu_us_per_event for each in seen]),
        "CPU µs an event, last third": Spread.of(
            [each.part(events * 2 // 3, events).cpu_us_per_event for each in seen]
        ),
        "start-up CPU s": Spread.of([each.start_up.cpu_s for each in seen]),
        "peak MiB": Spread.of([each.max_rss_mib for each in seen]),
    }
    print_table(
        f"Debezium {VERSION}, {events:,} inserts, {rounds} rounds: median (range)",
        ("figure", "value"),
        [[name, spread.text(1)] for name, spread in figures.items()],
    )
    write_result("mongo_debezium", at_start, is_quick, {"events": events, "figures": figures})


def run_debezium(
    broker: KafkaBroker,
    server: MongoBacklog,
    directory: Path,
    prefix: str,
    properties: Mapping[str, str] | None = None,
) -> Observation:
    """Run the connector from the first insert to the last, in the new `directory`."""
    topic = f"{prefix}.{DATABASE}.{COLLECTION}"
    broker.create_topic(topic, PARTITIONS)
    counter = TopicCounter(broker, topic, PARTITIONS)
    settings = {
        "snapshot.mode": "no_data",
        "capture.start.op.time": str(server.second << 32 | server.increment),
        "kafka.producer.bootstrap.servers": broker.bootstrap,
        **{f"kafka.producer.{name}": value for name, value in _PRODUCER.items()},
        **(properties or {}),
    }
    try:
        with EmbeddedEngines(directory, heap_mib=1024, java_options=()) as engines:
            engines.start(prefix, server.target, settings)
            return observe(engines.pid, counter, broker, server.events)
    finally:
        broker.admin().delete_topics([topic])[topic].result(60)
