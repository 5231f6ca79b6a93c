"""The proof on programs that stand in for `mongod`, and its rejections."""

from pathlib import Path

import pytest

from tests.acceptance.mongo_real.__main__ import main
from tests.acceptance.mongo_real.command import NOT_ON_A_SET, prove, reasons
from tests.acceptance.mongo_real.deployment import (
    PREFIX,
    RefusedError,
    databases_with,
    guarded,
    identify,
)
from tests.acceptance.mongo_real.run import CASES
from tests.acceptance.mongo_real.stand_in import StandIn
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client

# Covered by the kill test and by the tests of the commands.
SLOW = {"check and plan", "compare"}
OPLOG_MIB = 24


@pytest.mark.servers
@pytest.mark.slow
def test_harmless_cases_pass_on_a_server_given_by_uri(tmp_path: Path) -> None:
    """These cases break nothing, and the proof drops its own database."""
    names = ["every BSON type", "DDL events", "shards"]
    with MongoReplicaSet(3) as replica_set, Client(replica_set.connection_string) as client:
        done = prove(tmp_path, names, "--yes", MONGODB_URI=replica_set.connection_string)
        assert not databases_with(client, PREFIX)
    assert done.exit_code == 0
    assert [each["case"] for each in done.results] == names
    assert reasons(done.results) == NOT_ON_A_SET


@pytest.mark.slow
@pytest.mark.servers
def test_proof_runs_and_removes_its_own_members(tmp_path: Path) -> None:
    """The proof starts, kills, restarts and ends three members, and removes all files."""
    names = [name for name in CASES if name not in SLOW]
    with StandIn(tmp_path) as stand_in:
        done = prove(tmp_path, names, f"--oplog-mib={OPLOG_MIB}", MONGOD=str(stand_in.mongod))
    assert done.exit_code == 0
    assert [each["case"] for each in done.results] == names
    assert reasons(done.results) == NOT_ON_A_SET
    assert not list(tmp_path.glob("mongo-real-*"))


def test_proof_rejects_a_foreign_database_with_its_prefix() -> None:
    with MongoReplicaSet() as replica_set, Client(replica_set.connection_string) as client:
        client[f"{PREFIX}_theirs"].things.insert_one({})
        with (
            pytest.raises(RefusedError, match=f"already has {PREFIX}_theirs"),
            guarded(replica_set.connection_string, PREFIX),
        ):
            pass
        assert f"{PREFIX}_theirs" in client.list_database_names()


def test_proof_drops_only_its_databases_after_a_failure() -> None:
    with MongoReplicaSet() as replica_set, Client(replica_set.connection_string) as client:
        client.theirs.things.insert_one({})
        with pytest.raises(KeyboardInterrupt), guarded(replica_set.connection_string, PREFIX):
            client[f"{PREFIX}_data"].things.insert_one({})
            raise KeyboardInterrupt
        assert not databases_with(client, PREFIX)
        assert "theirs" in client.list_database_names()


def test_proof_rejects_a_standalone_server() -> None:
    with (
        MongoReplicaSet(is_standalone=True) as server,
        pytest.raises(RefusedError, match=r"no change streams\. Start it with --replSet"),
    ):
        identify(server.connection_string, may_step_down=False)


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        ({}, "Give one of MONGODB_URI=… and MONGOD=…"),
        ({"MONGODB_URI": "mongodb://h/", "MONGOD": "mongod"}, "Give one of"),
        ({"MONGODB_URI": "mongodb://h/", "MONGOS": "mongos"}, "MONGOS needs MONGOD"),
    ],
)
def test_proof_rejects_contradictory_servers(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    sentence: str,
) -> None:
    for name in ("MONGODB_URI", "MONGOD", "MONGOS"):
        monkeypatch.setenv(name, environment.get(name, ""))
    monkeypatch.setattr("sys.argv", ["mongo-real"])
    assert main() == 2
    assert sentence in capsys.readouterr().out
