"""An agent that reads recorded segments and publishes to a real broker.

Segments come in waves, so a fault has events before, during and after it. The expected events
follow from Cassandra's own reading of the segments: segment, position and number in the mutation
identify an event.
"""

import gzip
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from commitlog import Schema
from tests.oracle.reference.descriptor import read_descriptor
from tests.oracle.reference.recordings import OWN, Scenario
from tests.oracle.reference.sections import read_sections
from tests.support.events.expected_events import expected_events
from tests.support.servers.agent_process import AgentProcess
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.processes import wait_until

EventName = tuple[int, int, int]
"""Segment id, position in it, and place among the events of the mutation."""

PREFIX = "faults"
_WAVES = ("types", "batches", "ttl", "deletions", "timestamps", "wide")


class BrokerHarness:
    """Directories, a schema and a source of segments; `running` starts the agent with them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._raw = folder / "cdc_raw"
        self._raw.mkdir(parents=True)
        for name in ("relocation", "offsets"):
            (folder / name).mkdir()
        found = [Scenario(OWN, OWN / "5.0" / name) for name in _WAVES]
        self._waiting = sorted(found, key=lambda each: each.segments()[0][1])
        self._fed: list[Scenario] = []
        self._part_end = 0
        text = "\n".join((each.folder / "schema.cql").read_text() for each in found)
        (folder / "schema.cql").write_text(text)
        published = {table.id for table in Schema.from_cql(text).tables() if table.cdc}
        self._lines = {
            each.folder: [line for line in each.expected() if line["id"] in published]
            for each in found
        }
        self.agent: AgentProcess

    @property
    def topics(self) -> Mapping[str, int]:
        """Every topic of the events of all waves, with the number of events."""
        return _counts(line for lines in self._lines.values() for line in lines)

    def next_topics(self) -> list[str]:
        """Topics of the next wave, the one with the most events first."""
        counts = _counts(self._lines[self._waiting[0].folder])
        return [topic for topic, _ in counts.most_common()]

    def feed(self) -> None:
        """Add the next wave of segments, or the rest of one, each index after its segment."""
        scenario = self._waiting.pop(0)
        for path, name in scenario.segments():
            index = name.removesuffix(".log") + "_cdc.idx"
            self._put(path, name, (scenario.folder / index).read_text())
        self._fed.append(scenario)
        self._part_end = 0

    def feed_part(self) -> None:
        """Add the next wave's segment as if the node still wrote to it. The index contains the
        section end that divides the events of the wave's largest topic most evenly."""
        scenario = self._waiting[0]
        ((path, name),) = scenario.segments()
        largest = self.next_topics()[0]
        lines = self._lines[scenario.folder]
        positions: list[int] = [line["pos"] for line in lines if _topic_of(line) == largest]
        data = gzip.decompress(path.read_bytes())
        ends = [section.end for section in read_sections(data, read_descriptor(data, name))]

        def smaller_part(end: int) -> int:
            before = sum(position <= end for position in positions)
            return min(before, len(positions) - before)

        self._part_end = max(ends, key=smaller_part)
        assert smaller_part(self._part_end), "a topic with events in both parts"
        self._put(path, name, f"{self._part_end}\n")

    def _put(self, packed: Path, name: str, index: str) -> None:
        segment = self._raw / name
        if not segment.exists():
            segment.write_bytes(gzip.decompress(packed.read_bytes()))
        # The agent may read at any time, so the index is replaced atomically.
        temporary = self._folder / "index"
        temporary.write_text(index)
        temporary.replace(self._raw / (name.removesuffix(".log") + "_cdc.idx"))

    def feed_all(self) -> None:
        """Add all other waves."""
        while self._waiting:
            self.feed()

    def expected(self) -> set[EventName]:
        """Events of the waves so far, as Cassandra reads them."""
        counts: Counter[tuple[int, int]] = Counter()
        lines = [line for scenario in self._fed for line in self._lines[scenario.folder]]
        if self._part_end:
            part = self._lines[self._waiting[0].folder]
            lines += [line for line in part if line["pos"] <= self._part_end]
        for line in lines:
            at = (int(line["segment"].removesuffix(".log").rpartition("-")[2]), line["pos"])
            counts[at] += sum(1 for _ in expected_events(line))
        return {(*at, index) for at, count in counts.items() for index in range(count)}

    def recorded(self) -> list[EventName]:
        """Rejected events in the quarantine."""
        files = (self._folder / "relocation" / "error").glob("*.events.ndjson")
        lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        return [_name_of(line["headers"]["cdc.source"]) for line in lines]

    @contextmanager
    def running(
        self, bootstrap: str, properties: Mapping[str, object] | None = None
    ) -> Iterator[None]:
        """The agent, running and answering over HTTP."""
        self.agent = AgentProcess(
            "agent",
            self._folder,
            {
                "topic.prefix": PREFIX,
                "kafka.producer.bootstrap.servers": bootstrap,
                "schema.file": self._folder / "schema.cql",
                "node.id": "node-1",
                "cluster.name": "lab",
                "cdc.raw.directory": self._raw,
                "commit.log.relocation.dir": self._folder / "relocation",
                "offset.backing.store.dir": self._folder / "offsets",
                "snapshot.mode": "never",
                "poll.interval.ms": 100,
                **(properties or {}),
            },
        )
        self.agent.launch()
        try:
            self.wait(lambda: bool(self.agent.get("/ping")), "the agent's HTTP server")
            yield
            self.agent.stop()
        finally:
            self.agent.end()

    def wait(self, condition: Any, what: str) -> None:
        """Wait until a condition holds; raises when the agent ends."""
        self.agent.wait_until(condition, what)

    def sink(self) -> Mapping[str, Any]:
        """The sink's component in `/health`."""
        health = self.agent.ask("/health") or {}
        part: Mapping[str, Any] = health.get("components", {}).get("sink", {})
        return part

    def conditions(self) -> list[str]:
        """Codes of the conditions in `/health`."""
        health = self.agent.ask("/health") or {}
        return [each["code"] for each in health.get("conditions", [])]

    def wait_for_report(self, words: str) -> None:
        """Wait until `/health` reports the sink with a reason that contains these words."""

        def is_reported() -> bool:
            sink = self.sink()
            said = str(sink.get("sentence") or sink.get("message"))
            return sink.get("status") in ("failing", "degraded") and words in said

        self.wait(is_reported, f"`/health` to report: {words}")

    def wait_for_silence(self, seconds: int) -> None:
        """Wait until `/health` reports silence of the broker for this long."""

        def is_said() -> bool:
            told = re.findall(r"for (\d+) s", str(self.sink().get("sentence")))
            return any(int(number) >= seconds for number in told)

        self.wait(is_said, f"`/health` to report a silence of {seconds} s")

    def wait_for_arrival(
        self, broker: KafkaBroker, before: Collection[EventName] = (), topics: Collection[str] = ()
    ) -> list[EventName]:
        """Wait until all expected events are in the topics (default: all) and the sink is ok;
        returns all arrivals. `before`: events that arrived elsewhere, or in a topic that was
        deleted."""
        expected = self.expected() - set(before)
        self.wait(lambda: expected <= set(arrivals(broker, *topics)), "the expected events")
        self.wait(lambda: self.sink().get("status") == "ok", "`/health` to be ok")
        return arrivals(broker, *topics)


def arrivals(broker: KafkaBroker, *topics: str) -> list[EventName]:
    """Every event in these topics (default: in all)."""
    sources = (dict(each.headers)["cdc.source"] for each in broker.consume_all(*topics))
    return [_name_of(source.decode()) for source in sources]


def create_topics(
    broker: KafkaBroker,
    harness: BrokerHarness,
    *,
    but: str = "",
    partitions: int = 3,
    replicas: int = 1,
    config: Mapping[str, str] | None = None,
) -> None:
    """Create every topic of the harness except one."""
    for topic in harness.topics:
        if topic != but:
            broker.create_topic(topic, partitions, config, replicas)
    wait_until(lambda: harness.topics.keys() - {but} <= broker.topics().keys(), "the topics")


def _name_of(source: str) -> EventName:
    """Name of the event, from the header `cdc.source`."""
    segment, position, index = source.rsplit("/", 3)[1:]
    return int(segment), int(position), int(index)


def _topic_of(line: Mapping[str, Any]) -> str:
    return f"{PREFIX}.{line['ks']}.{line['table']}"


def _counts(lines: Iterable[dict[str, Any]]) -> Counter[str]:
    """Number of events of these lines per topic."""
    return Counter(_topic_of(line) for line in lines for _ in expected_events(line))
