"""The tests' own server answers like foreign servers; every different answer is listed.

make mongo-servers
"""

import random
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import bson
import pytest

from mongo_agent.documents import ClusterTime
from mongo_agent.server.commands import Client
from mongo_agent.snapshot import id_ranges
from mongo_agent.snapshot.collection_reader import CollectionReader
from mongo_agent.snapshot.records import Chunk, CollectionSnapshot, SnapshotReason
from mongo_agent.snapshot.settings import SnapshotSettings
from tests.acceptance.mongo_real.command import prove, reasons
from tests.acceptance.mongo_real.run import CASES
from tests.oracle.mongo_servers.servers import (
    DATABASE,
    IDS,
    SERVERS,
    answers,
    ferretdb,
    prepare,
    secantusdb,
)
from tests.support.mongodb.server import MongoReplicaSet

pytestmark = [pytest.mark.servers, pytest.mark.timeout(1800)]
_BOUNDS = "it ignores `min`, `max` and `hint`, so chunks are copied by conditions"
_SUBTYPES = "it compares no subtypes, which order binary values in MongoDB"
# Differences from the tests' own server, with the reason.
DIFFERENCES: Mapping[str, Mapping[str, str]] = {
    "ferretdb": {
        "a filter behind bounds": _BOUNDS,
        "an empty range": _BOUNDS,
        "between types": _BOUNDS,
        "bound behind a number": _BOUNDS,
        "find by the index": _BOUNDS,
        "from a string": _BOUNDS,
        "min without a hint": _BOUNDS,
        "to a string": _BOUNDS,
        "_id is -Infinity": "it takes no infinite numbers",
        "_id is NaN": "it takes no NaN",
        "_id is decimal": "it has no Decimal128",
        "_id is MinKey": "it has no MinKey",
        "_id is MaxKey": "it has no MaxKey",
        "_id is the same bytes of another subtype": _SUBTYPES,
        "an unknown field": "its code is that of a malformed command, 9 and not 40415",
        "an unknown stage": "its code 40234 is another one than that of MongoDB's source, 40324",
        "limit and batch": "a cursor at its `limit` ends with the next `getMore`",
    },
    "secantusdb": {
        "_id is an array": "it takes arrays, which MongoDB rejects",
        "_id is a regular expression": "it takes regular expressions, which MongoDB rejects",
        "_id is the same bytes of another subtype": _SUBTYPES,
        "a negative limit": "its code is that of a later release",
        "a negative skip": "its code is that of a later release",
        "an unknown field": "it ignores unknown fields",
        "a single batch": "it returns more than `batchSize`",
        "min without a hint": "MongoDB's source has 51173 for it",
    },
}


@pytest.mark.parametrize("name", SERVERS)
def test_foreign_server_answers_equal_those_of_our_server(name: str, tmp_path: Path) -> None:
    with (
        MongoReplicaSet() as own,
        SERVERS[name](tmp_path / name) as target,
        Client(own.connection_string) as ours,
        Client(target) as theirs,
    ):
        prepare(ours)
        prepare(theirs)
        expected, found = dict(answers(ours)), dict(answers(theirs))
    different = {each for each in expected if expected[each] != found[each]}
    for each in sorted(different):
        print(f"{each}\n  own    {expected[each]}\n  {name} {found[each]}")
    assert different == DIFFERENCES[name].keys()


def test_agent_proof_passes_on_a_foreign_server(tmp_path: Path) -> None:
    """SecantusDB has no dates after year 9999, and looks up images instead of storing them. It
    accepts `atClusterTime` but reads the present state, so the order of a snapshot under load
    depends on timing."""
    with secantusdb(tmp_path / "server") as target:
        cases = [name for name in CASES if name != "every BSON type"]
        done = prove(tmp_path, cases, "--no-images", "--yes", MONGODB_URI=target)
    failed = {each["case"] for each in done.results if each["outcome"] == "failed"}
    assert failed <= {"initial copy under load"}
    assert reasons(done.results).keys() == {
        "pre- and post-images",
        "events of more than 16 MB",
        "shards",
        "elections",
        "servers killed",
        "oplog rolled over",
    }


@pytest.mark.parametrize("chunk_size", [1, 2, 5, 50])
def test_foreign_server_without_index_bounds_is_read_in_chunks(
    chunk_size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FerretDB has no MinKey, MaxKey, NaN and infinite numbers, also in conditions."""
    unknown = [each for each in id_ranges.BRACKETS if each.is_single and each.lowest is not None]
    known = tuple(
        replace(each, lowest=-1e308) if each.lowest == float("-inf") else each
        for each in id_ranges.BRACKETS
        if each not in unknown
    )
    monkeypatch.setattr(id_ranges, "BRACKETS", known)
    settings = SnapshotSettings(chunk_size=chunk_size, has_index_bounds=False)
    ids = [*IDS, *range(10, 60), *(f"text {number}" for number in range(40))]
    random.Random(chunk_size).shuffle(ids)
    with ferretdb(tmp_path / "server") as target, Client(target) as client:
        client.drop_database(DATABASE)
        client[DATABASE].mixed.insert_many([{"_id": each, "n": 1} for each in ids])
        expected = [bson.encode(each) for each in client[DATABASE].mixed.find(sort={"_id": 1})]
        reader = CollectionReader(client, settings)
        snapshot = CollectionSnapshot(1, DATABASE, "mixed", SnapshotReason.INITIAL)
        planned = reader.find_bounds(snapshot, 1000)
        found: list[bytes] = []
        for lower, upper in pairwise((None, *planned.bounds, None)):
            chunk: Chunk | None = Chunk(lower, upper)
            while chunk is not None:
                read = reader.read_since(snapshot, chunk, ClusterTime(0, 0))
                found += read.documents
                chunk = None if read.rest_from is None else Chunk(read.rest_from, upper)
    assert len(found) == len(ids)
    assert found == expected
