"""A server that is given is the one that tests run against. What is given here is another process
with the replica set of the tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client
from tests.support.servers.cache import REPOSITORY

_PROGRAM = """#!{python}
import argparse, signal, sys
sys.path.insert(0, {repository!r})
from tests.support.mongodb.server import MongoReplicaSet

parser = argparse.ArgumentParser()
for name in ("--replSet", "--bind_ip", "--dbpath"):
    parser.add_argument(name, required=True)
parser.add_argument("--port", type=int, required=True)
given = parser.parse_args()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
with MongoReplicaSet(name=given.replSet, ports=[given.port]):
    signal.sigwait([signal.SIGTERM])
"""
_TESTS = ("test_server_sessions.py", "test_server_documents.py")


def run_tests(**environment: str) -> str:
    """The last lines of a run of tests that are told of a server."""
    folder = Path(__file__).parent
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rs"]
    done = subprocess.run(
        [*command, *(str(folder / name) for name in _TESTS)],
        cwd=REPOSITORY,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.servers
def test_by_its_connection_string() -> None:
    with MongoReplicaSet(name="given") as replica_set:
        output = run_tests(MONGODB_URI=replica_set.connection_string)
        assert "needs faults of the tests' own replica set" in output
        with Client(replica_set.connection_string) as client:
            assert "shop" in client.list_database_names()


@pytest.mark.servers
def test_by_its_program(tmp_path: Path) -> None:
    program = tmp_path / "mongod"
    program.write_text(_PROGRAM.format(python=sys.executable, repository=str(REPOSITORY)))
    program.chmod(0o755)
    assert "needs faults" in run_tests(MONGOD=str(program))
