"""The proof in small, on programs that take the place of `mongod`; and what it rejects."""

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

# These are in the kill test, and in those of the commands.
SLOW = {"check and plan", "compare"}
OPLOG_MIB = 24


@pytest.mark.servers
@pytest.mark.slow
def test_cases_by_uri(tmp_path: Path) -> None:
    """Those that break nothing; a database of the proof's own is removed."""
    names = ["every BSON type", "DDL events", "shards"]
    with MongoReplicaSet(3) as replica_set, Client(replica_set.connection_string) as client:
        done = prove(tmp_path, names, "--yes", MONGODB_URI=replica_set.connection_string)
        assert not databases_with(client, PREFIX)
    assert done.exit_code == 0
    assert [each["case"] for each in done.results] == names
    assert reasons(done.results) == NOT_ON_A_SET


@pytest.mark.slow
@pytest.mark.servers
def test_programs(tmp_path: Path) -> None:
    """Three members are started, killed, restarted and ended, and all is removed."""
    names = [name for name in CASES if name not in SLOW]
    with StandIn(tmp_path) as stand_in:
        done = prove(tmp_path, names, f"--oplog-mib={OPLOG_MIB}", MONGOD=str(stand_in.mongod))
    assert done.exit_code == 0
    assert [each["case"] for each in done.results] == names
    assert reasons(done.results) == NOT_ON_A_SET
    assert not list(tmp_path.glob("mongo-real-*"))


def test_databases_of_others_are_left_alone() -> None:
    with MongoReplicaSet() as replica_set, Client(replica_set.connection_string) as client:
        client[f"{PREFIX}_theirs"].things.insert_one({})
        with (
            pytest.raises(RefusedError, match=f"already has {PREFIX}_theirs"),
            guarded(replica_set.connection_string, PREFIX),
        ):
            pass
        assert f"{PREFIX}_theirs" in client.list_database_names()


def test_its_own_databases_are_dropped_after_a_failure() -> None:
    with MongoReplicaSet() as replica_set, Client(replica_set.connection_string) as client:
        client.theirs.things.insert_one({})
        with pytest.raises(KeyboardInterrupt), guarded(replica_set.connection_string, PREFIX):
            client[f"{PREFIX}_data"].things.insert_one({})
            raise KeyboardInterrupt
        assert not databases_with(client, PREFIX)
        assert "theirs" in client.list_database_names()


def test_a_server_without_a_replica_set_is_rejected() -> None:
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
def test_contradictory_servers_are_rejected(
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
