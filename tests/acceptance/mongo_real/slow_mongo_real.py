"""The whole proof on the tests' own server: by its URI, and by programs with shards.

make mongo-real-check
"""

from pathlib import Path

import pytest

from tests.acceptance.mongo_real.command import NOT_ON_A_SET, prove, reasons
from tests.acceptance.mongo_real.run import ALL, CASES
from tests.acceptance.mongo_real.stand_in import StandIn
from tests.support.mongodb.server import MongoReplicaSet

pytestmark = [pytest.mark.servers, pytest.mark.timeout(1800)]
RELEASES = ("4.4.29", "5.0.31", "6.0.19", "7.0.14", "8.0.4", "8.2.11", "8.3.13", "9.0.4")
NEEDS_PROGRAMS = "the proof has not started the server: use MONGOD=…"


@pytest.mark.parametrize("version", RELEASES)
def test_proof_passes_on_a_server_given_by_uri(tmp_path: Path, version: str) -> None:
    with MongoReplicaSet(3, version=version) as replica_set:
        done = prove(tmp_path, ALL, "--yes", MONGODB_URI=replica_set.connection_string)
    assert done.exit_code == 0
    expected = {
        **NOT_ON_A_SET,
        "servers killed": NEEDS_PROGRAMS,
        "oplog rolled over": NEEDS_PROGRAMS,
    }
    if version < "6.0":
        expected["pre- and post-images"] = "needs MongoDB 6.0"
        expected["DDL events"] = "needs MongoDB 6.0"
        expected["events of more than 16 MB"] = "needs MongoDB 6.0.9"
    assert reasons(done.results) == expected


def test_proof_passes_on_programs_with_shards(tmp_path: Path) -> None:
    with StandIn(tmp_path) as stand_in:
        done = prove(
            tmp_path,
            CASES,
            "--oplog-mib=24",
            MONGOD=str(stand_in.mongod),
            MONGOS=str(stand_in.mongos),
        )
    assert done.exit_code == 0
    on_cluster = done.results[len(CASES) :]
    assert [each["case"] for each in on_cluster] == [*CASES]
    assert reasons(on_cluster) == {
        "elections": "a mongos has no election of its own",
        "oplog rolled over": "is shown on the replica set",
    }
