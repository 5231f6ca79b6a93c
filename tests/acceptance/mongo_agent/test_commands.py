"""`mongo-agent check`, `plan`, `config` and `offsets` against a replica set."""

import json
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from mongo_agent.change_stream.position import StreamPosition
from mongo_agent.documents import ClusterTime
from mongo_agent.offsets import OFFSET_FILE, AgentOffsets, StreamOffset
from mongo_agent.snapshot.progress import SnapshotProgress
from sidecar.offsets.properties_store import PropertiesStore
from tests.support.checks.json_schemas import command_schema
from tests.support.mongodb.agent_command import (
    CDC,
    FINDER,
    configuration,
    mongo_agent,
    mongo_agent_program,
)

REPOSITORY = Path(__file__).resolve().parents[3]


def stored(folder: Path, time: ClusterTime, cluster: str) -> None:
    stream = StreamPosition({}, time, "0" * 16, cluster)
    position = AgentOffsets().moved("", StreamOffset(stream, None, SnapshotProgress()))
    PropertiesStore(folder / "offsets", OFFSET_FILE).save(position.values())


def test_healthy_agent_passes_all_checks(tmp_path: Path, hosts: str) -> None:
    changes = {"oplog.headroom.warning.ms": "0", "collection.include.list": "shop[.].*"}
    done = mongo_agent("check", "--config", configuration(tmp_path, hosts, CDC, changes))
    assert done.exit_code == 0, done.output
    assert "answers at" in done.output
    assert "The user cdc has the required privileges." in done.output
    assert "The stream of the deployment can be opened." in done.output
    assert "captures 2 of 4 collections and snapshots 2: shop.log, shop.orders." in done.output
    assert "No offset is stored; the agent starts anew." in done.output
    assert "The oplog covers" in done.output
    assert "is readable and writable." in done.output


def test_check_reports_missing_privileges_with_commands(tmp_path: Path, hosts: str) -> None:
    of_shop = {"capture.scope": "database", "capture.target": "shop"}
    done = mongo_agent("check", "--config", configuration(tmp_path, hosts, FINDER, of_shop))
    assert done.exit_code == 1
    assert (
        "fault    privileges: The user finder lacks required privileges: `changeStream` on the "
        "database shop, to read the change stream and to snapshot. In mongosh: "
        'db.getSiblingDB("admin").createRole({"role": "mongoAgent-finder", "privileges": [{'
        '"resource": {"db": "shop", "collection": ""}, "actions": ["changeStream"]}' in done.output
    )
    assert "cannot be opened (authorisation): not authorized on shop" in done.output


def rows(output: str) -> list[list[str]]:
    """Cells of plain columns."""
    return [re.split("  +", line) for line in output.splitlines()]


def test_check_rejects_an_offset_of_another_cluster(tmp_path: Path, hosts: str) -> None:
    path = configuration(tmp_path, hosts, CDC)
    stored(tmp_path, ClusterTime(1_700_000_000, 3), "elsewhere")
    done = mongo_agent("check", "--config", path)
    assert done.exit_code == 1
    assert "fault    position: The stored offset belongs to the cluster elsewhere" in done.output


def test_check_reports_an_offset_older_than_the_oplog(tmp_path: Path, hosts: str) -> None:
    path = configuration(tmp_path, hosts, CDC)
    stored(tmp_path, ClusterTime(1_700_000_000, 3), "rs0")
    done = mongo_agent("check", "--config", path)
    assert "ok       position: Stored cluster times: the deployment 1700000000:3" in (done.output)
    assert "are lost. The agent follows `history.lost.policy=fail`." in done.output


def test_plan_lists_collections_with_reasons(tmp_path: Path, hosts: str) -> None:
    changes = {"database.exclude.list": "crm", "snapshot.include.collection.list": "shop[.]o.*"}
    done = mongo_agent("plan", "--config", configuration(tmp_path, hosts, CDC, changes))
    assert done.exit_code == 0, done.errors
    assert rows(done.output) == [
        ["COLLECTION", "KIND", "CAPTURED", "SNAPSHOT", "REASON"],
        ["crm.people", "collection", "no", "no", "database.exclude.list: crm"],
        ["shop.big_orders", "view", "no", "no", "a view has no changes"],
        [
            "shop.log",
            "capped",
            "yes",
            "no",
            "no list excludes it; not in snapshot.include.collection.list",
        ],
        ["shop.orders", "collection", "yes", "yes", "no list excludes it"],
    ]


def test_plan_json_matches_its_schema(tmp_path: Path, hosts: str) -> None:
    done = mongo_agent("plan", "--json", "--config", configuration(tmp_path, hosts, CDC))
    document = json.loads(done.output)
    jsonschema.validate(document, command_schema("mongo-agent", "plan"))
    kinds = {each["collection"]: each["kind"] for each in document["collections"]}
    assert (kinds["shop.big_orders"], kinds["shop.orders"]) == ("view", "collection")


def test_plan_lists_only_collections_in_scope(tmp_path: Path, hosts: str) -> None:
    changes = {"capture.scope": "collection", "capture.target": "shop.orders,crm.people"}
    done = mongo_agent("plan", "--config", configuration(tmp_path, hosts, CDC, changes))
    assert [row[0] for row in rows(done.output)] == ["COLLECTION", "crm.people", "shop.orders"]


@pytest.mark.parametrize(
    ("changes", "words", "exit_code", "sentence"),
    [
        ({}, (), 2, "`sink` must be kafka: the command compares topics."),
        ({"sink": "kafka"}, ("shop.big_orders",), 2, "does not capture shop.big_orders"),
        ({"sink": "kafka"}, ("--wait", "0"), 1, "No offset is stored; the documents were read"),
    ],
)
def test_compare_reports_missing_preconditions(
    tmp_path: Path,
    hosts: str,
    changes: dict[str, str | None],
    words: tuple[str, ...],
    exit_code: int,
    sentence: str,
) -> None:
    settings = {"kafka.producer.bootstrap.servers": "127.0.0.1:1", **changes}
    done = mongo_agent("compare", "--config", configuration(tmp_path, hosts, CDC, settings), *words)
    assert (done.exit_code, done.output) == (exit_code, "")
    assert sentence in done.errors


def test_offsets_show_prints_the_stored_offset(tmp_path: Path, hosts: str) -> None:
    path = configuration(tmp_path, hosts, CDC)
    empty = mongo_agent("offsets", "show", "--config", path)
    assert "No offsets are stored" in empty.output
    stored(tmp_path, ClusterTime(1_700_000_000, 3), "rs0")
    shown = mongo_agent("offsets", "show", "--config", path)
    assert rows(shown.output)[1:] == [
        ["the deployment", "1700000000:3", "2023-11-14T22:13:20+00:00", "rs0", "0 finished"]
    ]
    as_json = mongo_agent("offsets", "show", "--json", "--config", path)
    document = json.loads(as_json.output)
    assert document["the deployment"]["cluster_time"] == "1700000000:3"
    jsonschema.validate(document, command_schema("mongo-agent", "offsets show"))


def test_config_commands_print_effective_values_and_the_manual(tmp_path: Path, hosts: str) -> None:
    path = configuration(tmp_path, hosts, CDC)
    shown = mongo_agent("config", "show", "--config", path, "--set", "snapshot.mode=never")
    assert "snapshot.mode=no_data  # command line" in shown.output
    assert "mongodb.password=********" in shown.output
    assert "sesame" not in shown.output
    assert shown.errors == ""
    poll = mongo_agent("config", "show", "--config", path, "--set", "poll.interval.ms=500")
    assert "poll.interval.ms" not in poll.output
    assert poll.errors == (
        "warning: `poll.interval.ms` (command line) has no effect here: the agent publishes events "
        "immediately.\n"
    )
    manual = (REPOSITORY / "docs" / "reference" / "mongodb-configuration.md").read_text()
    assert mongo_agent("config", "docs").output == manual
    good = mongo_agent("config", "check", "--config", path)
    assert (good.exit_code, good.output) == (0, "The configuration is valid.\n")


def test_installed_program_equals_the_function_call() -> None:
    installed = [str(Path(sys.executable).with_name("mongo-agent")), "config", "check"]
    done = subprocess.run(installed, capture_output=True, check=False)
    expected = mongo_agent("config", "check")
    assert (done.returncode, done.stdout.decode()) == (expected.exit_code, expected.output)
    assert done.stderr.decode() == expected.errors
    assert "No configuration file. Specify it with --config FILE" in expected.errors
    assert mongo_agent_program("config", "check") == expected


@pytest.mark.parametrize("words", [("--help",), ("plan", "--help")])
def test_help_prints_usage(words: tuple[str, ...]) -> None:
    done = mongo_agent(*words)
    assert done.exit_code == 0
    assert "Usage: mongo-agent" in done.output
