"""FerretDB (Go, with SQLite), SecantusDB (Python, with WiredTiger), and the commands for them."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bson import Binary, Decimal128, Int64, MaxKey, MinKey, ObjectId, Regex, Timestamp
from pymongo import MongoClient
from pymongo.errors import AutoReconnect, OperationFailure

from tests.support.servers.cache import cached_directory
from tests.support.servers.errors import ToolFailedError
from tests.support.servers.go import go_command
from tests.support.servers.processes import (
    ServerProcess,
    accepts_connections,
    free_port,
    wait_until,
)

_FERRETDB = Path(__file__).with_name("ferretdb")
_SECANTUSDB = "secantusdb==0.7.0b3"


@contextmanager
def ferretdb(directory: Path) -> Iterator[str]:
    """Its connection string. The server has no replica set, no sessions and no change streams."""

    def build(target: Path) -> None:
        environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly"}
        program = str(target / "ferretdb")
        command = [str(go_command()), "build", "-trimpath", "-ldflags=-s -w", "-o", program, "."]
        _run(command, _FERRETDB, environment)

    program = cached_directory("go/ferretdb-1.24.0", build) / "ferretdb"
    (directory / "data").mkdir(parents=True)
    port = free_port()
    command = [str(program), f"127.0.0.1:{port}", str(directory / "data")]
    with _running("FerretDB", command, port, directory):
        yield f"mongodb://127.0.0.1:{port}/"


@contextmanager
def secantusdb(directory: Path) -> Iterator[str]:
    """Its connection string: a replica set of one member."""

    def install(target: Path) -> None:
        _run([sys.executable, "-m", "venv", str(target)], target)
        # The complete folder is renamed, so the programs beside Python refer to another one.
        _run([str(target / "bin" / "python"), "-m", "pip", "install", "-q", _SECANTUSDB], target)

    python = cached_directory(_SECANTUSDB, install) / "bin" / "python"
    directory.mkdir(parents=True)
    port = free_port()
    command = [str(python), "-m", "secantus", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--storage-path", str(directory / "data"), "--noop-heartbeat-seconds", "1"]
    with _running("SecantusDB", command, port, directory):
        yield f"mongodb://127.0.0.1:{port}/?replicaSet=secantus"


SERVERS: Mapping[str, Callable[[Path], AbstractContextManager[str]]] = {
    "ferretdb": ferretdb,
    "secantusdb": secantusdb,
}


@contextmanager
def _running(name: str, command: list[str], port: int, directory: Path) -> Iterator[None]:
    process = ServerProcess(name, command, directory / "server.log", directory=directory)
    process.start()
    try:
        wait_until(lambda: accepts_connections("127.0.0.1", port), f"{name}", process=process)
        yield
    finally:
        process.terminate()


def _run(command: list[str], directory: Path, environment: Mapping[str, str] | None = None) -> None:
    done = subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise ToolFailedError(f"`{' '.join(command)}` failed:\n{done.stderr[-4000:]}")


Client = MongoClient[dict[str, Any]]
DATABASE = "questions"
_UNKNOWN_CURSOR = Int64(987_654_321)
# Values of most types; the numbers are not in the order of their insertion.
IDS: tuple[Any, ...] = (
    3,
    1.5,
    "b",
    "a",
    True,
    False,
    None,
    {"x": 1},
    {"x": 1, "y": 1},
    ObjectId(b"abcdefghijkl"),
    Int64(2),
    Binary(b"ab"),
    Binary(b"a"),
    datetime(2020, 1, 1, tzinfo=UTC),
    datetime(1950, 1, 1, tzinfo=UTC),
    Timestamp(1, 1),
    -4.5,
)
# Some servers reject them.
RARE_IDS: Mapping[str, Any] = {
    "decimal": Decimal128("2.5"),
    "the same bytes of another subtype": Binary(b"ab", 5),
    "MinKey": MinKey(),
    "MaxKey": MaxKey(),
    "NaN": float("nan"),
    "-Infinity": float("-inf"),
    "an equal number": 3.0,
    "an array": [1],
    "a regular expression": Regex("a"),
}
_BY_ID = {"hint": "_id_", "projection": {"_id": 1}}
QUESTIONS: Mapping[str, Mapping[str, Any]] = {
    "hello": {"hello": 1},
    "ping": {"ping": 1},
    "buildInfo": {"buildInfo": 1},
    "unknown command": {"frobnicate": 1},
    "getMore of an unknown cursor": {"getMore": _UNKNOWN_CURSOR, "collection": "mixed"},
    "killCursors of an unknown cursor": {"killCursors": "mixed", "cursors": [_UNKNOWN_CURSOR]},
    "find in order": {"find": "mixed", "sort": {"_id": 1}},
    "find against the order": {"find": "mixed", "sort": {"_id": -1}},
    "find by the index": {"find": "mixed", **_BY_ID},
    "bound of a chunk": {"find": "mixed", **_BY_ID, "skip": 7, "limit": 1},
    "bound behind a number": {"find": "mixed", **_BY_ID, "min": {"_id": 2}, "skip": 3, "limit": 1},
    "from a string": {"find": "mixed", **_BY_ID, "min": {"_id": "a"}},
    "to a string": {"find": "mixed", **_BY_ID, "max": {"_id": "b"}},
    "between types": {
        "find": "mixed",
        **_BY_ID,
        "min": {"_id": 2.5},
        "max": {"_id": Binary(b"ab")},
    },
    "an empty range": {"find": "mixed", **_BY_ID, "min": {"_id": 9}, "max": {"_id": 8}},
    "a filter behind bounds": {
        "find": "mixed",
        **_BY_ID,
        "min": {"_id": 1},
        "filter": {"_id": {"$in": ["a", 3, 1.5]}},
    },
    "min without a hint": {"find": "mixed", "min": {"_id": 2}},
    "greater than a number": {"find": "mixed", "filter": {"_id": {"$gt": 1.5}}, "sort": {"_id": 1}},
    "equal numbers": {"find": "mixed", "filter": {"_id": 2.0}},
    "first batch of two": {"find": "mixed", "sort": {"_id": 1}, "batchSize": 2},
    "first batch of none": {"find": "mixed", "batchSize": 0},
    "limit and batch": {"find": "mixed", "sort": {"_id": 1}, "limit": 2, "batchSize": 2},
    "a single batch": {"find": "mixed", "sort": {"_id": 1}, "batchSize": 2, "singleBatch": True},
    "a negative limit": {"find": "mixed", "limit": -1},
    "a negative skip": {"find": "mixed", "skip": -1},
    "an unknown field": {"find": "mixed", "frobnicate": 1},
    "find in no collection": {"find": "nothing"},
    "bounds in no collection": {"find": "nothing", **_BY_ID, "min": {"_id": 1}},
    "count": {"count": "mixed"},
    "listCollections": {"listCollections": 1, "filter": {"name": "mixed"}},
    "listIndexes": {"listIndexes": "mixed"},
    "listIndexes of no collection": {"listIndexes": "nothing"},
    "drop of no collection": {"drop": "nothing"},
    "an unknown stage": {"aggregate": "mixed", "pipeline": [{"$frobnicate": {}}], "cursor": {}},
    "aggregate without a cursor": {"aggregate": "mixed", "pipeline": []},
    "an _id twice": {"insert": "mixed", "documents": [{"_id": 3}]},
    "a change of _id": {
        "update": "mixed",
        "updates": [{"q": {"_id": 3}, "u": {"$set": {"_id": 4}}}],
    },
    **{
        f"_id is {name}": {"insert": "mixed", "documents": [{"_id": value}]}
        for name, value in RARE_IDS.items()
    },
}
_TOLD = ("isWritablePrimary", "maxBsonObjectSize", "maxMessageSizeBytes", "maxWriteBatchSize")


def prepare(client: Client) -> None:
    """Create the collection for the commands."""
    client.drop_database(DATABASE)
    client[DATABASE].mixed.insert_many([{"_id": each} for each in IDS])


def answers(client: Client) -> Iterator[tuple[str, object]]:
    """Answer to each command, without the parts that servers may choose."""
    for name, command in QUESTIONS.items():
        yield name, _answer(client, command)


def _answer(client: Client, command: Mapping[str, Any]) -> object:
    try:
        reply = client[DATABASE].command(dict(command))
    except OperationFailure as error:
        return "error", error.code
    except AutoReconnect:
        return "connection closed"
    if "cursor" in reply:
        return _of_cursor(client, command, reply["cursor"])
    if errors := reply.get("writeErrors"):
        return "write error", errors[0]["code"]
    kept = {name: value for name, value in reply.items() if name in (*_TOLD, "ok", "n")}
    return kept | {name: reply[name] for name in reply if name.startswith("cursors")}


def _of_cursor(client: Client, command: Mapping[str, Any], cursor: Mapping[str, Any]) -> object:
    """Each batch with the documents in order, to the end of the cursor."""
    names = [_plain(each) for each in cursor["firstBatch"]]
    batches = [names]
    number, collection = cursor["id"], cursor["ns"].partition(".")[2]
    while number:
        more = {"getMore": Int64(number), "collection": collection, "batchSize": 5}
        cursor = client[DATABASE].command(more)["cursor"]
        batches.append([_plain(each) for each in cursor["nextBatch"]])
        number = cursor["id"]
    # Without an order only the set of documents is compared.
    is_ordered = "sort" in command or "hint" in command
    shown = batches if is_ordered else [sorted(map(str, batch)) for batch in batches]
    return "batches", shown if is_ordered or len(batches) == 1 else [len(each) for each in batches]


def _plain(document: Mapping[str, Any]) -> object:
    if "_id" in document:
        return repr(document["_id"])
    # Of a collection or an index.
    return {name: document[name] for name in ("name", "type", "key", "v") if name in document}
