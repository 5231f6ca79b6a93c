"""`make demo-mongo`: run the MongoDB agent beside a replica set, with a file as its sink.

The replica set is the simulated one of the tests, or the server in `MONGODB_URI`. The demo copies
existing documents, streams changes of every kind, stops the agent with SIGTERM, and prints the
delivered events.
"""

import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pymongo import MongoClient
from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table

from examples.agent_process import AgentProcess, DemoError
from examples.summary import Event, read_events
from tests.support.mongodb.server.server_process import MongoServerProcess

CONFIGURATION = Path("examples") / "mongo" / "mongo.properties"
OUTPUT = Path("demo-output")
DATABASE = "demo_shop"
EXISTING = 100
OPERATIONS = {"r": "snapshot", "c": "inserts", "u": "updates", "d": "deletes"}
_DEADLINE_S = 120.0


def main() -> int:
    console = Console()
    try:
        with replica_set(console) as address, MongoClient[Any](address) as client:
            demo(console, address, client)
    except DemoError as error:
        console.print(f"[bold red]The demo failed:[/] {error}", highlight=False)
        return 1
    return 0


@contextmanager
def replica_set(console: Console) -> Iterator[str]:
    """Start a replica set, unless `MONGODB_URI` names one; yield its address."""
    console.rule("[bold]cdc-sidecar: a replica set, the agent, a file")
    shutil.rmtree(OUTPUT, ignore_errors=True)
    if given := os.environ.get("MONGODB_URI"):
        OUTPUT.mkdir()
        yield given
        return
    with MongoServerProcess(OUTPUT.absolute()) as server:
        console.print("Started the simulated replica set of the tests with three members.")
        yield server.connection_string


def demo(console: Console, address: str, client: MongoClient[Any]) -> None:
    """Run the demo. Raises `DemoError`."""
    client.drop_database(DATABASE)
    orders = client[DATABASE].orders
    orders.insert_many([{"_id": number, "item": "rope", "n": 1} for number in range(EXISTING)])
    server = OUTPUT / "server.properties"
    server.write_text(f"mongodb.connection.string={address}\n")
    agent = AgentProcess(
        ["--config", str(CONFIGURATION), "--config", str(server)],
        OUTPUT / "agent.log",
        preferred_port=8000,
        program="mongo-agent",
    )
    console.print(f"[dim]$ {' '.join(agent.command)}[/]", highlight=False)
    started_s = time.monotonic()
    with agent:
        agent.wait_until("The snapshot", lambda: len(events()) >= EXISTING, _DEADLINE_S)
        write(client)
        expected = EXISTING + 5
        agent.wait_until("Streaming", lambda: len(events()) >= expected, _DEADLINE_S)
        took_s = time.monotonic() - started_s
        exit_code = agent.stop()
    if exit_code != 0:
        raise DemoError(f"The agent ended with exit code {exit_code}.\n{agent.log_tail()}")
    console.print(f"All events arrived within {took_s:.1f} s, start-up included.\n")
    show(console, events())


def write(client: MongoClient[Any]) -> None:
    """Insert, update and delete; the last two changes are in one transaction."""
    orders = client[DATABASE].orders
    orders.insert_one({"_id": "new", "item": "tent", "tags": ["gift"]})
    orders.update_one({"_id": "new"}, {"$set": {"n": 2}, "$unset": {"tags": 1}})
    orders.delete_one({"_id": 0})
    with client.start_session() as session, session.start_transaction():
        orders.update_one({"_id": 1}, {"$inc": {"n": 1}}, session=session)
        client[DATABASE].audit.insert_one({"_id": 1, "what": "one more rope"}, session=session)


def events() -> list[Event]:
    """Read the events so far, without tombstones."""
    file = OUTPUT / "events.ndjson"
    lines = file.read_bytes().split(b"\n")[:-1] if file.exists() else []
    return [each for each in read_events(lines) if each["value"] is not None]


def show(console: Console, found: list[Event]) -> None:
    """Print counts by topic, and one event of each operation."""
    counts = Counter((event["topic"], event["value"]["op"]) for event in found)
    table = Table("topic", *OPERATIONS.values(), title="What arrived")
    for topic in sorted({topic for topic, _ in counts}):
        table.add_row(topic, *(str(counts[topic, each] or "") for each in OPERATIONS))
    console.print(table)
    for operation, name in OPERATIONS.items():
        sample = next(each for each in found if each["value"]["op"] == operation)
        value = sample["value"]
        console.print(f"\n[bold]{name}[/], for example from {sample['topic']}:")
        text = "\n".join(
            f"{part}: {value[part]}" for part in ("before", "after", "updateDescription")
        )
        console.print(Syntax(f"key: {sample['key']}\n{text}", "yaml", word_wrap=True))
    console.print(f"\nEvents, log and position are in {OUTPUT}.")


if __name__ == "__main__":
    sys.exit(main())
