"""`make attacks`: attacks on agents in separate processes.

Each row requires an answer of `/live` within a second, no hold of the interpreter over 50 ms, and
memory within the limit of the example pod. Rows of files at the start require a message or a
running agent within seconds. Prints the tables of docs/evidence/attacks.md; exit code 1 if a row
fails. An argument selects the attacks whose names contain it.
"""

import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from agent.status import view as agent_view
from mongo_agent.status import view as mongo_view
from sidecar.history.recorder import Column
from sidecar.history.ring_file import FILE_NAME, Layout, encode_file
from tests.acceptance.attacks import of_files, of_servers, of_starts
from tests.acceptance.attacks.over_http import ATTACK_S, OVER_HTTP, Attack
from tests.acceptance.attacks.target import MEMORY_MIB, Target, measured
from tests.support.agents.agent_directory import AgentDir, payload, write_segment
from tests.support.mongodb.proxy import MongoProxy
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client
from tests.support.servers.answering import answering

SLOWEST_S = 1.0
HELD_MS = 50.0


HEADINGS = (
    "| agent | attack | probes | failed | slowest `/live`, ms | longest hold, ms | memory, MiB "
    "| holds |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |"
)


Row = tuple[str, bool]
"""Row of the table, and whether it passes."""


def attacked(target: Target, program: str, name: str, attack: Attack) -> Row:
    with measured(target) as found:
        attack(target)
    failed = sum(not is_live for is_live, _ in found.probes)
    slowest_s = max((duration_s for _, duration_s in found.probes), default=0.0)
    holds = bool(target.is_running and found.probes and not failed) and (
        slowest_s <= SLOWEST_S and found.held_ms <= HELD_MS and found.memory_mib <= MEMORY_MIB
    )
    cells = f"{len(found.probes)} | {failed} | {1000 * slowest_s:.0f} | {found.held_ms:.0f}"
    cells = f"{cells} | {found.memory_mib:.0f} | {'yes' if holds else '**no**'}"
    return f"| {program} | {name} | {cells} |", holds


def wait(target: Target) -> None:
    time.sleep(ATTACK_S)


def fill_history(offsets: Path, columns: Sequence[Column]) -> None:
    """Fill the last 24 hours with long numbers: the largest answer of an agent."""
    layout = Layout(tuple(column.name for column in columns))
    now_s = int(time.time()) // layout.interval_s * layout.interval_s
    values = (123456789.123,) * len(columns)
    samples = {now_s - number * layout.interval_s: values for number in range(1, layout.slots)}
    (offsets / FILE_NAME).write_bytes(encode_file(layout, samples))


def cassandra_settings(folder: Path) -> dict[str, str]:
    folder.mkdir(parents=True)
    agent_dir = AgentDir(folder)
    write_segment(agent_dir.cdc_raw, 1, [[payload(1)]])
    fill_history(agent_dir.offsets, agent_view.HISTORY)
    return agent_dir.settings()


def mongo_settings(folder: Path) -> dict[str, str]:
    """No server answers: the agent waits for one, and serves HTTP."""
    offsets = folder / "offsets"
    offsets.mkdir(parents=True)
    fill_history(offsets, mongo_view.HISTORY)
    return {
        "topic.prefix": "demo",
        "sink": "file",
        "file.path": str(folder / "events.ndjson"),
        "offset.backing.store.dir": str(offsets),
        "mongodb.connection.string": "mongodb://127.0.0.1:1/?replicaSet=rs0",
    }


def http_rows(folder: Path, chosen: str) -> Iterator[Row]:
    for program, settings in (("agent", cassandra_settings), ("mongo_agent", mongo_settings)):
        with Target(program, settings(folder / program), folder / program) as target:
            yield attacked(target, program, "none, for comparison", wait)
            for name, attack in OVER_HTTP.items():
                if chosen in name:
                    yield attacked(target, program, name, attack)


def server_rows(folder: Path, chosen: str) -> Iterator[Row]:
    for name, (answers, settings, environment) in of_servers.ASKED.items():
        for answer, body in answers.items():
            text = f"{name} answers {answer}"
            if chosen in text:
                own = folder / text.replace(" ", "-")
                with answering(*of_servers.answer(body)) as server:
                    changes = of_servers.filled(settings, server.url)
                    outside = of_servers.filled(environment, server.url)
                    with Target("agent", cassandra_settings(own) | changes, own, outside) as target:
                        yield attacked(target, "agent", text, of_servers.asked(server))


def file_rows(folder: Path, chosen: str) -> Iterator[Row]:
    for name, (plant, seen) in of_files.FILES.items():
        if chosen in name:
            own = folder / name.replace(" ", "-")
            with Target("agent", cassandra_settings(own) | of_files.SETTINGS, own) as target:
                yield attacked(target, "agent", name, of_files.planted(own, plant, seen))


def mongodb_rows(folder: Path, chosen: str) -> Iterator[Row]:
    with MongoReplicaSet() as servers, Client(servers.connection_string) as client:
        for name, fault in of_servers.MONGODB_ATTACKS.items():
            if chosen in name:
                own = folder / name.replace(" ", "-")
                settings, signals = (
                    mongo_settings(own) | of_servers.MONGODB_SETTINGS,
                    own / "signals.txt",
                )
                with MongoProxy(servers.members[0]) as proxy:
                    settings["mongodb.connection.string"] = proxy.connection_string
                    settings["signal.file"] = str(signals)
                    attack = of_servers.mongodb_attack(proxy, client, signals, fault)
                    with Target("mongo_agent", settings, own) as target:
                        yield attacked(target, "mongo_agent", name, attack)


def main() -> int:
    chosen = sys.argv[1] if len(sys.argv) > 1 else ""
    is_fine = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(HEADINGS, flush=True)
        for rows in (http_rows, server_rows, file_rows, mongodb_rows):
            for line, holds in rows(folder, chosen):
                print(line, flush=True)
                is_fine &= holds
        print(f"\n{of_starts.HEADINGS}", flush=True)
        for start in (start for start in of_starts.STARTS if chosen in start):
            own = folder / str(hash(start))
            line, holds = of_starts.started(start, own, cassandra_settings(own))
            print(line, flush=True)
            is_fine &= holds
    return 0 if is_fine else 1


if __name__ == "__main__":
    sys.exit(main())
