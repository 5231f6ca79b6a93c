"""The client tests and the comparison with Debezium's connector, as cases of the proof."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path

from tests.acceptance.mongo_real.deployment import NotApplicableError
from tests.acceptance.mongo_real.guard import drop
from tests.acceptance.mongo_real.proof import Proof, require
from tests.support.mongodb.server.given import DATABASES, drop_databases
from tests.support.servers.cache import REPOSITORY

CLIENT_TESTS = (
    "tests/unit/support/mongodb/server/test_change_streams.py",
    "tests/unit/support/mongodb/server/test_server_documents.py",
    "tests/unit/support/mongodb/server/test_server_sessions.py",
)
DEBEZIUM_TESTS = ("tests/oracle/debezium_mongodb/test_debezium.py",)


def client_tests(proof: Proof) -> str:
    """The client tests that describe the server of the tests hold of this one."""
    return _run(proof, CLIENT_TESTS)


def debezium(proof: Proof) -> str:
    """The agent's records equal those of Debezium's connector."""
    return _run(proof, DEBEZIUM_TESTS)


def _run(proof: Proof, tests: Sequence[str]) -> str:
    target = proof.deployment.connection_string
    taken = sorted(set(DATABASES) & set(proof.client.list_database_names()))
    if taken:
        raise NotApplicableError(f"its databases exist: {', '.join(taken)}")
    proof.agent.end()
    drop(proof.client, proof.prefix)
    results = Path(proof.directory) / f"{Path(tests[0]).stem}.xml"
    environment = {**os.environ, "MONGODB_URI": target}
    environment.pop("MONGOD", None)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    try:
        done = subprocess.run(
            [*command, f"--junitxml={results}", f"--basetemp={proof.directory / 'pytest'}"],
            cwd=REPOSITORY,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=proof.sizes.suite_deadline_s,
        )
    finally:
        drop_databases(target)
    require(done.returncode == 0, "tests failed", [done.stdout[-4000:]])
    return _counts(results)


def _counts(results: Path) -> str:
    suite = ElementTree.parse(results).getroot().find("testsuite")
    assert suite is not None
    tests, skipped = int(suite.get("tests", "0")), int(suite.get("skipped", "0"))
    return f"{tests - skipped} passed, {skipped} not applicable"
