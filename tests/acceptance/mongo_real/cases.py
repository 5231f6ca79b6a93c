"""The cases: writes of every kind, kills, elections, lost history, and third-party test suites."""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pymongo
from bson import Timestamp, json_util
from bson.codec_options import DatetimeConversion
from pymongo.client_session import ClientSession
from pymongo.errors import OperationFailure

from tests.acceptance.mongo_kill.checks import repeats
from tests.acceptance.mongo_kill.workload import TYPES
from tests.acceptance.mongo_real.deployment import NotApplicableError, drop
from tests.acceptance.mongo_real.proof import SCHEMA_TOPIC, Proof, require
from tests.oracle.debezium_mongodb import values
from tests.support.mongodb.agent_command import mongo_agent_program
from tests.support.mongodb.agent_process import ticking
from tests.support.mongodb.server.given import DATABASES, drop_databases
from tests.support.servers.cache import REPOSITORY
from tests.support.servers.kafka import KafkaRecord
from tests.support.servers.processes import wait_until

_MIB = 1 << 20
_DATES = json_util.JSONOptions(datetime_conversion=DatetimeConversion.DATETIME_AUTO)
_COMMAND_NOT_FOUND = 59


def snapshot_under_load(proof: Proof) -> str:
    """Documents with an `_id` of each type change during a snapshot."""
    workload = proof.workload("mixed", *TYPES, makers=TYPES)
    workload.fill(proof.sizes.documents)
    proof.ensure_agent()
    proof.wait_for_acknowledged(1)
    for _ in range(proof.sizes.rounds):
        workload.write(proof.sizes.operations)
    proof.drain()
    arrived = proof.arrived(*workload.collections)
    count = proof.require_histories(workload)
    reads = sum(arrival.kind == "read" for arrival in arrived)
    require(0 < reads < count, f"{reads} of {count} events are of the snapshot")
    return f"{count:,} records, {reads:,} of them copied, {len(repeats(arrived))} repeats"


def check_and_plan(proof: Proof) -> str:
    """`mongo-agent check` finds no fault, and `mongo-agent plan` lists the collections."""
    with ticking(proof.tick):
        checked = mongo_agent_program("check", "--config", proof.agent.configuration)
    require(checked.exit_code == 0, "`mongo-agent check` fails", [checked.output, checked.errors])
    planned = mongo_agent_program("plan", "--config", proof.agent.configuration)
    require(planned.exit_code == 0, "`mongo-agent plan` fails", [planned.output, planned.errors])
    require(f"{proof.database}.mixed" in planned.output, "a collection lacks", [planned.output])
    return f"{len(planned.output.splitlines()) - 1} collections planned"


def every_type(proof: Proof) -> str:
    """Documents with every BSON type that pymongo writes, as values and as `_id`."""
    random = proof.random
    collection = proof.client[proof.database].types
    documents = {}
    for number in range(proof.sizes.documents // 2):
        identity = number if number % 3 else {"n": number, "k": values.leaf_of_key(random)}
        documents[json_util.dumps(identity)] = {
            "_id": identity,
            "leaves": {f"f{at}": make(random) for at, make in enumerate(values.LEAVES)},
            "value": values.value(random),
            "document": values.document(random),
        }
    collection.insert_many(documents.values())
    proof.drain()
    found = {}
    for record in proof.records("types"):
        after = _value(record)["after"]
        document = json_util.loads(after, json_options=_DATES)
        found[json_util.dumps(document["_id"])] = document
    require(found.keys() == documents.keys(), "documents lack or are invented")
    different = [
        f"{found[key]}\nis not {document}"
        for key, document in documents.items()
        if json_util.dumps(found[key]) != json_util.dumps(document)
    ]
    require(not different, f"{len(different)} documents differ", different)
    return f"{len(found):,} documents, {len(values.LEAVES)} kinds of values in each"


def transactions(proof: Proof) -> str:
    """A committed, an aborted and a large transaction."""
    database = proof.client[proof.database]
    for name in ("accounts", "ledger"):
        database.create_collection(name)
    count = proof.sizes.transaction_mib * 8

    def commit(session: ClientSession) -> None:
        database.accounts.insert_one({"_id": "committed"}, session=session)
        database.ledger.insert_one({"_id": "committed"}, session=session)
        database.accounts.update_one({"_id": "committed"}, {"$set": {"n": 1}}, session=session)

    def commit_large(session: ClientSession) -> None:
        for number in range(count):
            large = {"_id": number, "text": "x" * (_MIB // 8)}
            database.ledger.insert_one(large, session=session)

    # The driver retries after a write conflict. If the cache of a server is smaller than a
    # transaction, an insert blocks forever.
    with pymongo.timeout(proof.sizes.deadline_s), proof.client.start_session() as session:
        session.with_transaction(commit)
        session.start_transaction()
        database.accounts.insert_one({"_id": "aborted"}, session=session)
        database.ledger.insert_one({"_id": "aborted"}, session=session)
        session.abort_transaction()
        session.with_transaction(commit_large)
    proof.drain()
    of_ledger = [_identity(record) for record in proof.records("ledger")]
    require(
        sorted(set(map(str, of_ledger))) == sorted(map(str, ["committed", *range(count)])),
        "the ledger has other documents than the transactions",
        of_ledger[:20],
    )
    in_order = [each for each in dict.fromkeys(of_ledger) if isinstance(each, int)]
    by_partition: dict[int, list[int]] = {}
    for record in proof.records("ledger"):
        if isinstance(_identity(record), int):
            by_partition.setdefault(record.partition, []).append(_identity(record))
    unordered = [places for places in by_partition.values() if places != sorted(places)]
    require(not unordered or len(of_ledger) != len(in_order) + 1, "the order is another one")
    of_accounts = [(_identity(each), _value(each)["op"]) for each in proof.records("accounts")]
    expected = [("committed", "c"), ("committed", "u")]
    require(of_accounts == expected, "other events of accounts", of_accounts)
    return f"3 and {count:,} events of two transactions, 0 of the aborted one"


def images(proof: Proof) -> str:
    """An update with both images, and a delete with its pre-image."""
    proof.deployment.require_images()
    database = proof.client[proof.database]
    keeps = {"enabled": True}
    database.create_collection("images", changeStreamPreAndPostImages=keeps)
    database.images.insert_one({"_id": 1, "n": 1})
    database.images.update_one({"_id": 1}, {"$inc": {"n": 1}})
    database.images.delete_one({"_id": 1})
    proof.drain()
    found = [_sides(record) for record in proof.records("images") if record.value is not None]
    expected = [
        (None, {"_id": 1, "n": 1}),
        ({"_id": 1, "n": 1}, {"_id": 1, "n": 2}),
        ({"_id": 1, "n": 2}, None),
    ]
    require(found == expected, "other images", found)
    return "3 events with the documents before and after"


def large_events(proof: Proof) -> str:
    """An update whose event is larger than 16 MB arrives in parts and is published whole."""
    deployment = proof.deployment
    deployment.require_version(6, 0, 9)
    deployment.require_images()
    if deployment.version[:2] in ((6, 1), (6, 2), (6, 3)):
        raise NotApplicableError("needs MongoDB 7.0 or a later 6.0")
    database = proof.client[proof.database]
    database.create_collection("large", changeStreamPreAndPostImages={"enabled": True})
    for letter in "ab":
        document = {"text": letter * (9 * _MIB)}
        database.large.replace_one({"_id": 1}, document, upsert=True)
    proof.drain()
    before, after = _sides(proof.records("large")[-1])
    require(before is not None and after is not None, "a document lacks")
    assert before is not None
    assert after is not None
    sizes = len(before["text"]), len(after["text"])
    letters = {*before["text"]}, {*after["text"]}
    require(sizes == (9 * _MIB, 9 * _MIB) and letters == ({"a"}, {"b"}), "other documents", [sizes])
    return "1 event of 18 MiB"


def catalogue(proof: Proof) -> str:
    """Collections are created, indexed, renamed and dropped."""
    # `topic.schema.changes` requires it.
    proof.deployment.require_version(6, 0)
    database = proof.client[proof.database]
    database.create_collection("scratch")
    database.scratch.create_index("n")
    # `compare` also reads the topics of these collections, and no document may remain in them.
    database.scratch.insert_one({"_id": 1, "n": 1})
    database.scratch.delete_one({"_id": 1})
    database.scratch.rename("renamed")
    database.renamed.insert_one({"_id": 2, "n": 2})
    database.renamed.delete_one({"_id": 2})
    database.drop_collection("renamed")
    proof.drain()
    records = proof.broker.consume_all(SCHEMA_TOPIC)
    found = [
        _value(record)["operation"]
        for record in records
        if _value(record)["event"]["ns"].get("coll") in ("scratch", "renamed")
    ]
    # Two partitions: each key uses one of them, so the order holds per collection.
    expected = ["create", "createIndexes", "rename", "drop"]
    require(sorted(set(found)) == sorted(expected), "other events", found)
    documents = [
        {_identity(each) for each in proof.records(name)} for name in ("scratch", "renamed")
    ]
    require(documents == [{1}, {2}], "other documents", documents)
    return ", ".join(found)


def sharded(proof: Proof) -> str:
    """A sharded collection, with single writes and transactions."""
    deployment = proof.deployment
    if not deployment.is_sharded:
        raise NotApplicableError("the deployment is a replica set")
    admin = proof.client.admin
    _allow_sharding(proof)
    workload = proof.workload("spread")
    admin.command("shardCollection", f"{proof.database}.spread", key={"_id": "hashed"})
    workload.fill(proof.sizes.documents)
    workload.write(proof.sizes.operations)
    proof.drain()
    count = proof.require_histories(workload)
    if deployment.processes is None:
        return f"{count:,} records"
    by_shard = deployment.processes.documents_by_shard(proof.database, "spread")
    require(all(by_shard.values()) and len(by_shard) > 1, "a shard has no document", [by_shard])
    return f"{count:,} records; {', '.join(f'{n:,} on {name}' for name, n in by_shard.items())}"


def _allow_sharding(proof: Proof) -> None:
    """Servers before 6.0 require it of a database."""
    try:
        proof.client.admin.command("enableSharding", proof.database)
    except OperationFailure as error:
        # Later releases may not support it.
        if error.code != _COMMAND_NOT_FOUND:
            raise


def compared(proof: Proof) -> str:
    """`mongo-agent compare` finds the topics equal to the server while the agent runs."""
    outcome = proof.compare()
    require(outcome.exit_code == 0, "`mongo-agent compare` fails", [outcome.output, outcome.errors])
    return f"{len(outcome.output.splitlines()) - 1} collections are equal"


def _value(record: KafkaRecord) -> dict[str, Any]:
    assert record.value is not None
    found: dict[str, Any] = json.loads(record.value)
    return found


def _identity(record: KafkaRecord) -> Any:
    assert record.key is not None
    return json_util.loads(json.loads(record.key)["id"])


def _sides(record: KafkaRecord) -> tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]:
    """The documents before and after."""
    value = _value(record)
    before, after = value["before"], value["after"]
    return (
        None if before is None else json_util.loads(before),
        None if after is None else json_util.loads(after),
    )


_STEP_DOWN_S = 10
_CATCH_UP_S = 5
_FILLS = 2


def agent_kills(proof: Proof) -> str:
    """SIGKILL to the agent while it publishes."""
    workload = proof.workload("agent_kills")
    workload.fill(proof.sizes.documents // 2)
    proof.drain()
    for _ in range(proof.sizes.rounds):
        workload.write(proof.sizes.operations)
        proof.agent.kill()
        workload.write(proof.sizes.operations // 2)
        proof.agent.launch()
        proof.wait_for_acknowledged(1)
    proof.drain()
    proof.require_histories(workload)
    arrived = proof.arrived(*workload.collections)
    return f"{proof.sizes.rounds} kills, {len(arrived):,} records, {len(repeats(arrived))} repeats"


def elections(proof: Proof) -> str:
    """`replSetStepDown` while documents are written."""
    deployment = proof.deployment
    if deployment.is_sharded:
        raise NotApplicableError("a mongos has no election of its own")
    if not deployment.may_step_down:
        raise NotApplicableError("needs your consent: ARGS=--yes")
    if deployment.members < 2:
        raise NotApplicableError("the replica set has one member")
    workload = proof.workload("elections")
    workload.fill(proof.sizes.documents // 2)
    for _ in range(proof.sizes.rounds):
        workload.write(proof.sizes.operations)
        proof.client.admin.command(
            "replSetStepDown", _STEP_DOWN_S, secondaryCatchUpPeriodSecs=_CATCH_UP_S
        )
        workload.write(proof.sizes.operations)
    proof.drain()
    count = proof.require_histories(workload)
    return f"{proof.sizes.rounds} elections, {count:,} records"


def server_kills(proof: Proof) -> str:
    """SIGKILL to the primary, then to all members at once, during writes."""
    processes = proof.deployment.own_processes()
    workload = proof.workload("server_kills")
    workload.fill(proof.sizes.documents // 2)
    for _ in range(proof.sizes.rounds):
        workload.write(proof.sizes.operations)
        processes.kill_primary()
        # No member can take over in a one-member shard.
        if proof.deployment.members > 1:
            workload.write(proof.sizes.operations)
        processes.restart()
    processes.kill_all()
    processes.restart()
    workload.write(proof.sizes.operations)
    proof.drain()
    count = proof.require_histories(workload)
    return f"{proof.sizes.rounds + 1} kills, {count:,} records"


def lost_history(proof: Proof) -> str:
    """The oplog rolls over while the agent is stopped: the agent ends with the reason, or takes a
    new snapshot with `history.lost.policy=resnapshot`."""
    deployment = proof.deployment
    deployment.own_processes()
    if deployment.is_sharded or deployment.oplog_mib is None:
        raise NotApplicableError("is shown on the replica set")
    workload = proof.workload("lost")
    workload.fill(proof.sizes.documents // 2)
    proof.drain()
    proof.agent.stop()
    workload.write(proof.sizes.operations)
    written = _roll_over(proof, proof.tick(), deployment.oplog_mib)
    proof.agent.launch()
    status = proof.agent.wait_for_end(proof.sizes.deadline_s)
    log = proof.agent.log_tail()
    require(status != 0, "the agent ends as if all were well", [log])
    require("history.lost.policy" in log, "the agent does not name the remedy", [log])
    proof.agent.launch("history.lost.policy=resnapshot")
    proof.drain()
    arrived = proof.arrived(*workload.collections)
    last = {arrival.place: arrival.state for arrival in arrived}
    lacking = [
        f"{place} is {history.last}, and {last.get(place)} has arrived"
        for place, history in workload.histories.items()
        if history.last is not None and last.get(place) != history.last
    ]
    require(not lacking, f"{len(lacking)} documents lack", lacking)
    return f"exit status {status} after {written:,} MiB, then {len(arrived):,} records"


def _roll_over(proof: Proof, time: Timestamp, oplog_mib: int) -> int:
    """Fill the oplog until its first entry is after a time; returns the written MiB."""
    filler = proof.client[f"{proof.prefix}_clock"].filler
    for number in range(_FILLS * oplog_mib):
        filler.replace_one({"_id": 0}, {"text": "x" * _MIB, "n": number}, upsert=True)
    oplog = proof.client.local["oplog.rs"]

    def has_rolled_over() -> bool:
        proof.tick()
        first = oplog.find_one({}, {"ts": 1}, sort=[("$natural", 1)])
        return first is not None and first["ts"] > time

    wait_until(has_rolled_over, "the oplog to roll over", deadline_s=proof.sizes.deadline_s)
    return _FILLS * oplog_mib


CLIENT_TESTS = (
    "tests/unit/support/mongodb/server/test_change_streams.py",
    "tests/unit/support/mongodb/server/test_server_documents.py",
    "tests/unit/support/mongodb/server/test_server_sessions.py",
)
DEBEZIUM_TESTS = ("tests/oracle/debezium_mongodb/test_debezium.py",)


def client_tests(proof: Proof) -> str:
    """Client tests that describe the tests' server pass on this one."""
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
