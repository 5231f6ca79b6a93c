"""A test replica set with a backlog of inserts, in a separate process.

`python -m benches.mongo_server COUNT` prints its connection string and the cluster time before the
inserts, and exits when its standard input closes. The candidates' CPU time excludes it.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import Any

from pymongo import MongoClient

from benches.mongo_replay import Replay
from mongo_agent.capture.namespaces import Scope
from mongo_agent.change_stream.cursor import StreamCursor, StreamSource
from mongo_agent.change_stream.options import StreamOptions
from mongo_agent.change_stream.position import Opening
from mongo_agent.documents import ClusterTime
from tests.support.mongodb.server import MongoReplicaSet

DATABASE, COLLECTION = "bench", "events"
_BATCH = 1000


@dataclass(frozen=True)
class MongoBacklog:
    """A running server: its connection string, and the cluster time before the inserts."""

    target: str
    second: int
    increment: int
    events: int


@contextmanager
def running_server(events: int) -> Iterator[MongoBacklog]:
    """Start a server with `events` inserts of about 450 bytes, and prepared replies."""
    command = [sys.executable, "-m", "benches.mongo_server", str(events)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield MongoBacklog(**json.loads(process.stdout.readline()), events=events)
        finally:
            process.kill()


def documents(count: int, seed: int = 1) -> Iterator[dict[str, Any]]:
    """Generate documents of about 450 bytes: strings, numbers, a list, a nested document."""
    random = Random(seed)
    for number in range(count):
        yield {
            "_id": number,
            "name": f"customer {number}",
            "email": f"customer{number}@example.com",
            "balance": random.randrange(10**9) / 100,
            "visits": random.randrange(10**6),
            "active": number % 3 == 0,
            "address": {"street": random.randbytes(20).hex(), "city": "Wien", "zip": 1010},
            "tags": [random.randbytes(4).hex() for _ in range(5)],
            "notes": random.randbytes(74).hex(),
        }


def replayed(
    replica_set: MongoReplicaSet, client: MongoClient[dict[str, Any]], start: Any, count: int
) -> str:
    """Start a replay of the inserts, and return its connection string."""
    events: list[bytes] = []
    opening = Opening(from_time=ClusterTime(start.time, start.inc))
    source = StreamSource(client, Scope(), [], StreamOptions("default"))
    with StreamCursor.open(source, opening) as cursor:
        while len(events) < count:
            events += cursor.read().events
    host, _, port = replica_set.members[0].partition(":")
    replay = Replay((host, int(port)), "admin.$cmd.aggregate", events)
    options = f"directConnection=true&replicaSet={replica_set.name}"
    return f"mongodb://127.0.0.1:{replay.port}/?{options}"


def main() -> None:
    count = int(sys.argv[1])
    with (
        MongoReplicaSet() as replica_set,
        MongoClient[dict[str, Any]](replica_set.connection_string) as client,
    ):
        start = replica_set.write_noop()
        found = documents(count)
        while batch := list(islice(found, _BATCH)):
            client[DATABASE][COLLECTION].insert_many(batch)
        target = replayed(replica_set, client, start, count)
        backlog = {"target": target, "second": start.time, "increment": start.inc}
        print(json.dumps(backlog), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
