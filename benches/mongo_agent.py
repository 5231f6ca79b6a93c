"""Publishes a backlog of inserts with the MongoDB agent; a real broker shares the machine.

The produce baseline (`mongo_baseline.py`) and Debezium's connector alternate with it on the same
broker. The change stream's replies are prepared in advance (`mongo_replay`, a proxy in front of a
test replica set), so that the server does not slow any candidate down.

The connector runs embedded, with the settings from its documentation and a producer configured like
a Connect worker's.
"""

from pathlib import Path

from benches.backlog import PARTITIONS, counted_topic, run_loop, running_agent
from benches.candidates import candidates, print_candidates, rate, ratio, whole_cpu_us
from benches.harness import Result, run_rounds, scratch_directory
from benches.mongo_server import COLLECTION, DATABASE, MongoBacklog, running_server
from benches.sampling import Observation, observe
from tests.oracle.debezium_mongodb.engines import VERSION, EmbeddedEngines
from tests.support.servers.kafka import KafkaBroker

EVENTS, QUICK_EVENTS = 300_000, 20_000
AGENT, BASELINE, DEBEZIUM = "agent", "produce baseline", f"Debezium {VERSION}"
_PRODUCER = {"acks": "all", "enable.idempotence": "true", "linger.ms": "5"}


def run(is_quick: bool) -> Result:
    rounds, events = (1, QUICK_EVENTS) if is_quick else (3, EVENTS)
    runs = {
        BASELINE: ("baseline", run_baseline),
        AGENT: ("agent", run_agent),
        DEBEZIUM: ("debezium", run_debezium),
    }
    with (
        scratch_directory("mongo_agent") as scratch,
        KafkaBroker(scratch / "kafka", heap_mib=1024) as broker,
        running_server(events) as server,
    ):

        def publish(name: str, number: int) -> Observation:
            prefix, publish_all = runs[name]
            topic_prefix = f"{prefix}-{number}"
            return publish_all(broker, server, scratch / topic_prefix, topic_prefix)

        seen = run_rounds("publishing", tuple(runs), publish, rounds=rounds)
    ratios = {
        "events a second, as a share of the baseline's": ratio(seen, AGENT, BASELINE, rate),
        "the same by CPU time, the broker's included": ratio(seen, BASELINE, AGENT, whole_cpu_us),
        "Debezium's CPU an event, as a multiple of the agent's": ratio(
            seen, DEBEZIUM, AGENT, lambda each: each.steady.cpu_us_per_event
        ),
        "the same over the last third": ratio(
            seen, DEBEZIUM, AGENT, lambda each: each.last_third.cpu_us_per_event
        ),
    }
    print_candidates(f"{events:,} inserts, {rounds} interleaved rounds", seen)
    for name, found in ratios.items():
        print(f"{name}: {found.text(2)}")
    return {"events": events, "candidates": candidates(seen), "ratios": ratios}


def run_agent(
    broker: KafkaBroker, server: MongoBacklog, directory: Path, prefix: str
) -> Observation:
    """Run the agent in the new `directory` until it has published all inserts."""
    properties = {
        "topic.prefix": prefix,
        "mongodb.connection.string": server.target,
        "snapshot.mode": "no_data",
        "capture.start.op.time": f"{server.second}:{server.increment}",
        "kafka.producer.bootstrap.servers": broker.bootstrap,
    }
    with (
        counted_topic(broker, f"{prefix}.{DATABASE}.{COLLECTION}") as counter,
        running_agent(directory, properties, "mongo-agent") as pid,
    ):
        return observe(pid, counter, broker, server.events)


def run_baseline(broker: KafkaBroker, server: MongoBacklog, _: Path, prefix: str) -> Observation:
    """Publish the agent's messages in a bare loop, one for each insert."""
    words = ["benches.mongo_baseline", broker.bootstrap, server.target]
    words += [str(server.second), str(server.increment), prefix, str(PARTITIONS)]
    topic = f"{prefix}.{DATABASE}.{COLLECTION}"
    return run_loop(broker, topic, server.events, [*words, str(server.events)])


def run_debezium(
    broker: KafkaBroker, server: MongoBacklog, directory: Path, prefix: str
) -> Observation:
    """Run the connector in the new `directory` until it has published all inserts."""
    settings = {
        "snapshot.mode": "no_data",
        "capture.start.op.time": str(server.second << 32 | server.increment),
        "kafka.producer.bootstrap.servers": broker.bootstrap,
        **{f"kafka.producer.{name}": value for name, value in _PRODUCER.items()},
    }
    with (
        counted_topic(broker, f"{prefix}.{DATABASE}.{COLLECTION}") as counter,
        EmbeddedEngines(directory, heap_mib=1024, java_options=()) as engines,
    ):
        engines.start(prefix, server.target, settings)
        return observe(engines.pid, counter, broker, server.events)
