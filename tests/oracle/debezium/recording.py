"""Stored results of a run: segments, schema, Cassandra's dump, and the peer's events by case."""

import gzip
import json
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import commitlog
from tests.oracle.debezium.cases import MARKS
from tests.oracle.reference.recordings import Scenario
from tests.support.record.folder import write_packed
from tests.support.segments.segment_reading import events, unpacked
from tests.support.servers.cache import REPOSITORY

FOLDER = REPOSITORY / "tests" / "fixtures" / "peer"
TOPIC_PREFIX = "cass"
CLUSTER = "peer"
_EVENTS = "debezium.ndjson.gz"

Position = tuple[int, int]
"""Segment id and position in it."""


@dataclass(frozen=True, slots=True)
class Sent:
    """One event as JSON values."""

    topic: str
    key: Any
    value: Any

    @property
    def position(self) -> Position:
        source = self.value["source"]
        return segment_id(source["file"]), source["pos"]


@dataclass(frozen=True, slots=True)
class CaseRecord:
    """A case, the peer's events, and the peer's log messages if it failed."""

    name: str
    statements: tuple[str, ...]
    sent: tuple[Sent, ...]
    log: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Recording:
    """A folder of segments, and the cases in the order of their writes."""

    folder: Path
    cases: tuple[CaseRecord, ...]

    @staticmethod
    def load(folder: Path = FOLDER) -> "Recording":
        """Read the output of `save`."""
        cases = []
        with gzip.open(folder / _EVENTS, "rt", encoding="utf-8") as lines:
            for line in lines:
                case = json.loads(line)
                sent = tuple(Sent(**each) for each in case["sent"])
                log = tuple(case.get("log", ()))
                cases.append(CaseRecord(case["name"], tuple(case["statements"]), sent, log))
        return Recording(folder, tuple(cases))

    def save(self) -> None:
        """Write the peer's events beside the segments."""
        lines = []
        for case in self.cases:
            line = asdict(case)
            if not case.log:
                del line["log"]
            lines.append(json.dumps(line, ensure_ascii=False) + "\n")
        write_packed(self.folder / _EVENTS, "".join(lines).encode())

    def ours(self, scratch: Path) -> tuple[tuple[Sent, ...], ...]:
        """Our events of each case."""
        schema = commitlog.Schema.from_cql((self.folder / "schema.cql").read_text("utf-8"))
        event_format = commitlog.EventFormat(
            topic_prefix=TOPIC_PREFIX, cluster=CLUSTER, node_id="node", cells=False
        )
        found = [
            Sent(event.topic, event.key, event.value)
            for path, name in Scenario(self.folder, self.folder).segments()
            for event in events(unpacked(path, name, scratch), schema, event_format)
        ]
        return by_case(found, case_starts(self.folder))


def segment_id(name: str) -> int:
    """Returns 1699 for `CommitLog-7-1699.log`."""
    return int(name.removesuffix(".log").split("-")[2])


def case_starts(folder: Path) -> list[Position]:
    """Start of each case and end of the last one, by Cassandra's own reading of the marks."""
    return [
        (segment_id(line["segment"]), line["pos"])
        for line in Scenario(folder, folder).expected()
        if f"{line['ks']}.{line['table']}" == MARKS
    ]


def by_case(found: Iterable[Sent], starts: Sequence[Position]) -> tuple[tuple[Sent, ...], ...]:
    """Events by the number of their case, without those of marks."""
    cases: list[list[Sent]] = [[] for _ in starts[1:]]
    for event in found:
        if not event.topic.endswith(f".{MARKS}"):
            cases[bisect_right(starts, event.position) - 1].append(event)
    return tuple(tuple(case) for case in cases)
