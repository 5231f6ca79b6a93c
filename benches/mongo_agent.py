"""The MongoDB agent over a backlog of inserts into a real broker, all on the machine's cores.

Interleaved with it in the same run: the produce ceiling (`mongo_baseline.py`), and Debezium's
connector with the same broker. Change streams come from replies that are made before
(`mongo_replay` in front of the replica set of the tests), so that the server bounds nobody.
"""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benches.machine import machine
from benches.mongo_debezium import PARTITIONS, run_debezium
from benches.mongo_server import COLLECTION, DATABASE, MongoBacklog, running_server
from benches.paths import scratch_directory
from benches.progress import progress_bar
from benches.sampling import Observation, TopicCounter, observe
from benches.stats import Spread, print_table, write_result
from tests.oracle.debezium_mongodb.engines import VERSION
from tests.support.servers.agent_process import AgentProcess
from tests.support.servers.kafka import KafkaBroker

EVENTS, QUICK_EVENTS = 300_000, 20_000
AGENT, CEILING, DEBEZIUM = "agent", "produce ceiling", f"Debezium {VERSION}"

Seen = Mapping[str, Sequence[Observation]]


def run(is_quick: bool) -> None:
    rounds, events = (1, QUICK_EVENTS) if is_quick else (3, EVENTS)
    at_start = machine()
    seen: dict[str, list[Observation]] = {CEILING: [], AGENT: [], DEBEZIUM: []}
    with (
        scratch_directory("mongo_agent") as scratch,
        KafkaBroker(scratch / "kafka", heap_mib=1024) as broker,
        running_server(events, is_replayed=True) as server,
        progress_bar("publishing", 3 * rounds) as step,
    ):
        for number in range(rounds):
            here = scratch / f"round-{number}"
            seen[CEILING].append(run_ceiling(broker, server, f"ceiling-{number}"))
            step()
            seen[AGENT].append(run_agent(broker, server, here / "agent", f"agent-{number}"))
            step()
            seen[DEBEZIUM].append(
                run_debezium(broker, server, here / "debezium", f"debezium-{number}")
            )
            step()
    figures = {name: _figures(runs, events) for name, runs in seen.items()}
    ratios = _ratios(seen, events)
    file = write_result(
        "mongo_agent",
        at_start,
        is_quick,
        {"events": events, "candidates": figures, "ratios": ratios},
    )
    print(at_start.sentence())
    rows = [[name, *(spread.text(1) for spread in of.values())] for name, of in figures.items()]
    title = f"{events:,} inserts, {rounds} rounds by turns: median (range)"
    print_table(title, ("", *figures[AGENT]), rows)
    for name, ratio in ratios.items():
        print(f"{name}: {ratio.text(2)}")
    print(file)


def run_agent(
    broker: KafkaBroker, server: MongoBacklog, directory: Path, prefix: str
) -> Observation:
    """Run the agent from the first insert to the last, in the new `directory`."""
    topic = f"{prefix}.{DATABASE}.{COLLECTION}"
    broker.create_topic(topic, PARTITIONS)
    counter = TopicCounter(broker, topic, PARTITIONS)
    offsets = directory / "offsets"
    offsets.mkdir(parents=True)
    properties = {
        "topic.prefix": prefix,
        "mongodb.connection.string": server.target,
        "snapshot.mode": "no_data",
        "capture.start.op.time": f"{server.second}:{server.increment}",
        "kafka.producer.bootstrap.servers": broker.bootstrap,
        "offset.backing.store.dir": offsets,
    }
    agent = AgentProcess("mongo-agent", directory, properties)
    agent.launch()
    try:
        assert agent.pid is not None
        return observe(agent.pid, counter, broker, server.events)
    finally:
        agent.end()
        broker.admin().delete_topics([topic])[topic].result(60)


def run_ceiling(broker: KafkaBroker, server: MongoBacklog, prefix: str) -> Observation:
    """Publish the same number of the agent's messages by a bare loop."""
    topic = f"{prefix}.{DATABASE}.{COLLECTION}"
    broker.create_topic(topic, PARTITIONS)
    counter = TopicCounter(broker, topic, PARTITIONS)
    words = ["-m", "benches.mongo_baseline", broker.bootstrap, server.target]
    words += [str(server.second), str(server.increment), prefix, str(PARTITIONS)]
    loop = subprocess.Popen(
        [sys.executable, *words, str(server.events)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    try:
        return observe(loop.pid, counter, broker, server.events)
    finally:
        loop.kill()
        loop.wait()
        broker.admin().delete_topics([topic])[topic].result(60)


def _figures(runs: Sequence[Observation], events: int) -> dict[str, Spread]:
    return {
        "thousand/s": Spread.of([each.steady.events_per_s / 1e3 for each in runs]),
        "CPU µs an event": Spread.of([each.steady.cpu_us_per_event for each in runs]),
        "last third": Spread.of(
            [each.part(events * 2 // 3, events).cpu_us_per_event for each in runs]
        ),
        "the broker's": Spread.of([each.steady.broker_cpu_us_per_event for each in runs]),
        "start-up CPU s": Spread.of([each.start_up.cpu_s for each in runs]),
        "max MiB": Spread.of([each.max_rss_mib for each in runs]),
    }


def _ratios(seen: Seen, events: int) -> dict[str, Spread]:
    """Ratios between runs of the same round."""
    of_agent = list(zip(seen[AGENT], seen[CEILING], seen[DEBEZIUM], strict=True))

    def last_us(each: Observation) -> float:
        return each.part(events * 2 // 3, events).cpu_us_per_event

    def whole_us(each: Observation) -> float:
        return each.steady.cpu_us_per_event + each.steady.broker_cpu_us_per_event

    return {
        "events a second, of the ceiling's": Spread.of(
            [own.steady.events_per_s / bare.steady.events_per_s for own, bare, _ in of_agent]
        ),
        "the ceiling's CPU an event with the broker's, of ours": Spread.of(
            [whole_us(bare) / whole_us(own) for own, bare, _ in of_agent]
        ),
        "events a CPU second, times Debezium's": Spread.of(
            [
                peer.steady.cpu_us_per_event / own.steady.cpu_us_per_event
                for own, _, peer in of_agent
            ]
        ),
        "the same of the last third": Spread.of(
            [last_us(peer) / last_us(own) for own, _, peer in of_agent]
        ),
    }
