"""`agent check` reports each error of `agent run` in the same words, and `run` reports each fault
of `check`."""

import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from agent.check.checks import CHECKS
from agent.config.loader import OFFSET_FILE
from sidecar.check.broker import ask_broker
from sidecar.offsets.properties_store import PropertiesStore
from tests.acceptance.faults.filesystem_harness import as_user
from tests.support.agents import agent_command
from tests.support.agents.agent_command import Outcome
from tests.support.agents.agent_directory import SCHEMA, AgentDir, payload, write_segment
from tests.support.agents.agent_health import health
from tests.support.agents.agent_main import agent
from tests.support.agents.agent_thread import AgentThread
from tests.support.servers.processes import free_port
from tests.support.sinks.fake_registry import FakeRegistry

pytestmark = pytest.mark.servers

UID = 65534
Changes = Mapping[str, str | None]
Make = Callable[[AgentDir], Changes]
AVRO = "io.confluent.connect.avro.AvroConverter"
NO_DIRECTORY = "does not exist"


@dataclass(frozen=True)
class Bad:
    """Broken environment. `make` breaks it and returns further properties of the configuration."""

    code: str
    """Code of the finding."""
    part: str
    """Part of its message, and of the output of `run`."""
    make: Make
    exit_code: int = 2
    """Exit code of `run`, if it ends."""
    level: str = "fault"
    """Level of the finding and of the condition: a fault degrades the agent."""


def _with(*done: Callable[[AgentDir], object], **changes: str | None) -> Make:
    """Break something and change properties: `http__port` stands for `http.port`."""

    def make(agent_dir: AgentDir) -> Changes:
        for each in done:
            each(agent_dir)
        return {name.replace("__", "."): value for name, value in changes.items()}

    return make


def _kafka(agent_dir: AgentDir) -> Changes:
    bootstrap = f"127.0.0.1:{free_port()}"
    return {"sink": "kafka", "file.path": None, "kafka.producer.bootstrap.servers": bootstrap}


def _node(agent_dir: AgentDir) -> Changes:
    return {"schema.file": None, "cassandra.hosts": "127.0.0.1", "cassandra.port": str(free_port())}


def _registry(agent_dir: AgentDir) -> Changes:
    return _avro(f"http://127.0.0.1:{free_port()}")


def _avro(url: str) -> Changes:
    return {"value.converter": AVRO, "value.converter.schema.registry.url": url}


def _empty_token(agent_dir: AgentDir) -> Changes:
    token = agent_dir.folder / "token"
    token.write_text("\n")
    return {"http.token.file": str(token)}


def _offsets(node_id: str, prefix: str = "demo") -> Make:
    def save(agent_dir: AgentDir) -> None:
        store = PropertiesStore(agent_dir.offsets, OFFSET_FILE, prefix)
        store.save({"node.id": node_id, "CommitLog-7-1.log": "100"})

    return _with(save)


def _other_directory(agent_dir: AgentDir) -> Changes:
    other = agent_dir.folder / "other"
    other.mkdir()
    return _yaml(agent_dir, cdc_raw_directory=str(other))


def _full(agent_dir: AgentDir) -> Changes:
    with write_segment(agent_dir.cdc_raw, 1, [], idx=None).open("r+b") as file:
        file.truncate(10 << 20)
    return _yaml(agent_dir, cdc_total_space="10MiB")


def _schema(text: str) -> Make:
    return _with(lambda agent_dir: agent_dir.schema.write_text(text))


def _yaml(agent_dir: AgentDir, **changes: str) -> Changes:
    settings = {
        "cdc_enabled": "true",
        "cdc_raw_directory": str(agent_dir.cdc_raw),
        "cdc_total_space": "20GiB",
        **changes,
    }
    path = agent_dir.folder / "cassandra.yaml"
    path.write_text("".join(f"{name}: {value}\n" for name, value in settings.items()))
    return {"cassandra.config": str(path)}


def bad_configuration(agent_dir: AgentDir, bad: Bad) -> Path:
    """Configuration of the broken environment, with one segment and the node's file."""
    write_segment(agent_dir.cdc_raw, 1, [[payload(1)]])
    return agent_dir.configuration({**_yaml(agent_dir), **bad.make(agent_dir)})


LOCAL = "CREATE KEYSPACE ks WITH replication = {'class': 'LocalStrategy'};"
VOLATILE = "CREATE KEYSPACE ks WITH replication = {'class': 'A'} AND durable_writes = false;\n"
ENDS = {
    "transform": Bad(
        "transform_unusable",
        "the module nomodule cannot be imported",
        _with(event__transform="nomodule:fn"),
    ),
    "transform without function": Bad(
        "transform_unusable",
        "json has no function nofunction",
        _with(event__transform="json:nofunction"),
    ),
    "token": Bad(
        "http_token_unusable",
        "http.token.file: /nope cannot be read: No such file or directory.",
        _with(http__token__file="/nope"),
    ),
    "empty token": Bad("http_token_unusable", "is empty.", _empty_token),
    "address": Bad(
        "http_address_unusable",
        "http.host=10.255.255.1 is not an address of this machine",
        _with(http__host="10.255.255.1"),
    ),
    "sink's folder": Bad(
        "sink_file_unusable",
        "(file.path) cannot be written: Is a directory.",
        _with(lambda d: d.events.mkdir()),
    ),
    "cdc_raw": Bad("directory_unusable", NO_DIRECTORY, _with(lambda d: shutil.rmtree(d.cdc_raw))),
    "offsets": Bad("directory_unusable", NO_DIRECTORY, _with(lambda d: d.offsets.rmdir())),
    "relocation": Bad("directory_unusable", NO_DIRECTORY, _with(lambda d: d.relocation.rmdir())),
    "schema file": Bad("schema_file_unusable", "schema.cql", _schema("CREATE TABLE (")),
    "schema without table": Bad("schema_file_unusable", "has no CREATE TABLE", _schema(LOCAL)),
    "another node": Bad("offsets_source_mismatch", "belong to the node node-2", _offsets("node-2")),
    "another prefix": Bad(
        "offsets_source_mismatch", "belong to `other`", _offsets("node-1", "other")
    ),
    "torn offsets": Bad(
        "offsets_unreadable",
        "its checksum does not match",
        _with(lambda d: (d.offsets / OFFSET_FILE).write_bytes(b"#sha256=00\n")),
        exit_code=1,
    ),
}
"""Faults that end `run`, because they never resolve without an operator."""

HEALS = {
    "broker": Bad("broker_unavailable", "127.0.0.1:", _kafka),
    "node": Bad("node_unavailable", "does not answer: Connection refused", _node),
    "registry": Bad("schema_registry_unavailable", "does not answer", _registry),
    "directory": Bad("cdc_raw_directory_differs", "and the agent reads", _other_directory),
    "planted segment": Bad(
        "segment_not_regular_file",
        "CommitLog-7-2.log",
        _with(lambda d: (d.cdc_raw / "CommitLog-7-2.log").symlink_to(d.folder / "nowhere")),
    ),
    "everybody's directory": Bad(
        "directory_world_writable",
        "every user of this machine can replace files",
        _with(lambda d: d.offsets.chmod(0o777)),
    ),
    "cdc off": Bad(
        "cdc_disabled", "Change data capture is off", lambda d: _yaml(d, cdc_enabled="false")
    ),
    "full": Bad("cdc_raw_nearly_full", "When it is full, the node", _full),
    "no table": Bad(
        "no_table_captured",
        "No table has cdc = true",
        _schema(SCHEMA.replace("    AND cdc = true", "")),
    ),
    "durable writes": Bad(
        "writes_bypass_commitlog", "ks.t (durable_writes = false)", _schema(VOLATILE + SCHEMA)
    ),
    "lists": Bad(
        "no_table_published",
        "The table lists exclude all 1 captured tables",
        _with(table__exclude__list="ks.t"),
    ),
    "unmatched": Bad(
        "list_entry_unmatched",
        "table.include.list: ks.orders: it matches no table",
        _with(table__include__list="ks.t,ks.orders"),
    ),
    "limit": Bad(
        "cdc_raw_quota_unknown",
        "is unknown",
        _with(lambda d: d.schema.write_text(LOCAL + SCHEMA), cassandra__config=None),
        level="warning",
    ),
}
"""Faults that degrade the running agent until an operator acts."""


def checked(path: Path, *options: str) -> tuple[Outcome, Any]:
    done = agent("check", "--json", "--config", path, *options)
    return done, json.loads(done.output)


def faults(document: Any, level: str = "fault") -> list[Any]:
    return [each for each in document["findings"] if each["level"] == level]


def test_healthy_environment_passes_check_and_run(agent_dir: AgentDir) -> None:
    write_segment(agent_dir.cdc_raw, 1, [[payload(1)]])
    path = agent_dir.configuration(_yaml(agent_dir))
    done, document = checked(path)
    assert (done.exit_code, faults(document)) == (0, [])
    with AgentThread(["--config", str(path)], agent_dir.folder / "agent.log", 0) as process:
        process.wait_until("health", lambda: health(process)[0] == 200)
        assert process.stop() == 0


def _give(agent_dir: AgentDir) -> None:
    """Unprivileged user that can reach the directories becomes their owner; files in `cdc_raw` keep
    their owner."""
    for directory in (agent_dir.offsets, agent_dir.relocation):
        os.chown(directory, UID, UID)
    if agent_dir.cdc_raw.stat().st_mode & 0o700:
        os.chown(agent_dir.cdc_raw, UID, UID)


@pytest.mark.parametrize("name", ENDS)
def test_check_finds_errors_that_make_run_exit(agent_dir: AgentDir, name: str) -> None:
    bad = ENDS[name]
    path = bad_configuration(agent_dir, bad)
    done, document = checked(path)
    found = faults(document)
    assert done.exit_code == document["exit_code"] == 1
    assert [each["code"] for each in found] == [bad.code], found
    assert bad.part in found[0]["message"]
    assert found[0]["remedy"]
    ran = agent("run", "--config", path)
    assert ran.exit_code == bad.exit_code, ran.errors
    assert found[0]["message"] in " ".join(ran.errors.splitlines()), (found[0], ran.errors)
    assert f"exits with code {bad.exit_code}" in found[0]["remedy"] or bad.exit_code == 2


# The closed port of a broker is like that of a node, and takes seconds.
@pytest.mark.parametrize(
    "name",
    [pytest.param("broker", marks=pytest.mark.slow), *(each for each in HEALS if each != "broker")],
)
def test_check_fault_is_a_condition_of_the_running_agent(
    agent_dir: AgentDir, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The agent reports the same condition, or that of the affected component."""
    # No broker answers at the closed port, regardless of the timeout.
    monkeypatch.setattr(ask_broker, "__defaults__", (0.1,))
    bad = HEALS[name]
    path = bad_configuration(agent_dir, bad)
    done, document = checked(path)
    found = faults(document, bad.level)
    assert done.exit_code == (1 if bad.level == "fault" else 0)
    assert [each["code"] for each in found] == [bad.code], found
    assert bad.part in found[0]["message"]
    shown: list[Any] = []

    def is_shown() -> bool:
        code, answer = health(process)
        shown[:] = answer["conditions"]
        return any(
            each["code"] in (bad.code, _OF_A_PART.get(bad.code))
            and bad.part in each["message"]
            and code == (200 if bad.level == "warning" else 503)
            for each in shown
        )

    with AgentThread(["--config", str(path)], agent_dir.folder / "agent.log", 0) as process:
        try:
            process.wait_until("the condition", is_shown)
        except Exception as error:
            raise AssertionError(f"{bad} is not among {shown}") from error


_OF_A_PART = {
    "broker_unavailable": "sink_unavailable",
    "node_unavailable": "schema_unavailable",
    "schema_registry_unavailable": "segment_blocked",
}


def test_resolved_fault_leaves_health(agent_dir: AgentDir, monkeypatch: pytest.MonkeyPatch) -> None:
    """The registry is unavailable for a while, and no event needs it meanwhile."""
    checks = tuple(replace(check, retry_s=0.1) for check in CHECKS)
    monkeypatch.setattr("agent.service.CHECKS", checks)
    with FakeRegistry() as registry:
        registry.mood = lambda method, subject: (503, {"message": "not yet"})
        path = agent_dir.configuration({**_yaml(agent_dir), **_avro(registry.url)})
        log = agent_dir.folder / "agent.log"
        with AgentThread(["--config", str(path)], log, 0) as process:

            def codes() -> list[str]:
                return [each["code"] for each in health(process)[1]["conditions"]]

            unavailable = ["schema_registry_unavailable"]
            process.wait_until("the fault", lambda: codes() == unavailable)
            appeared = "code=schema_registry_unavailable"
            process.wait_until("the log", lambda: appeared in log.read_text())
            registry.mood = lambda method, subject: None
            process.wait_until("health", lambda: health(process)[0] == 200)
            resolved = "condition resolved: schema_registry_unavailable"
            process.wait_until("the line", lambda: resolved in log.read_text())
            assert process.stop() == 0
    assert registry.schemas == []


def test_check_passes_while_its_agent_runs(agent_dir: AgentDir) -> None:
    """`check` accepts the port, the lock and the output file of its own agent."""
    write_segment(agent_dir.cdc_raw, 1, [[payload(1)]])
    path = agent_dir.configuration(_yaml(agent_dir))
    with AgentThread(["--config", str(path)], agent_dir.folder / "agent.log", 0) as process:
        process.wait_until("health", lambda: health(process)[0] == 200)
        port = process.url.rpartition(":")[2]
        done, document = checked(path, "--set", f"http.port={port}")
        assert (done.exit_code, faults(document)) == (0, [])
        assert "http_address_own" in [each["code"] for each in document["findings"]]
        # Another agent would need the same address.
        other = agent_dir.folder / "offsets-2"
        other.mkdir()
        done, document = checked(
            path, "--set", f"http.port={port}", "--set", f"offset.backing.store.dir={other}"
        )
        assert [each["code"] for each in faults(document)] == ["http_address_in_use"]
        assert process.stop() == 0


@pytest.fixture
def shared_dir(reachable_folder: Path) -> AgentDir:
    """Directory of another user's agent."""
    return AgentDir(reachable_folder)


def test_unreadable_cdc_raw_is_one_finding_among_others(
    shared_dir: AgentDir,
) -> None:
    """`check` runs as an unprivileged user."""
    path = shared_dir.configuration(_yaml(shared_dir))
    shared_dir.cdc_raw.chmod(0o000)
    _give(shared_dir)
    done = agent_command.agent("check", "--json", "--config", path, prefix=as_user(UID))
    document = json.loads(done.output)
    about = [each for each in faults(document) if str(shared_dir.cdc_raw) in each["message"]]
    assert [each["code"] for each in about] == ["directory_unusable"]
    assert "tables_ok" in [each["code"] for each in document["findings"]]


def test_unreadable_segments_are_a_fault_with_a_remedy(shared_dir: AgentDir) -> None:
    for number in (1, 2, 3):
        write_segment(shared_dir.cdc_raw, number, [[payload(1)]]).chmod(0o600)
    path = shared_dir.configuration(_yaml(shared_dir))
    _give(shared_dir)
    done = agent_command.agent("check", "--json", "--config", path, prefix=as_user(UID))
    (finding,) = (
        each for each in json.loads(done.output)["findings"] if each["subject"] == "segments"
    )
    assert (finding["level"], finding["code"]) == ("fault", "segment_not_readable")
    assert (
        f"{shared_dir.cdc_raw}/CommitLog-7-1.log cannot be read: Permission denied."
        in (finding["message"])
    )
    assert "owner root (uid 0), group root (gid 0) and mode 0600" in finding["message"]
    assert f"the agent has uid {UID} and gid {UID}" in finding["message"]
    assert f"setfacl -m u:{UID}:r" in finding["remedy"]
    assert "usermod -aG root " in finding["remedy"]


def test_invalid_configuration_is_reported_as_json(agent_dir: AgentDir) -> None:
    done, document = checked(agent_dir.configuration({"http.port": "eighty", "topic.prefix": None}))
    assert done.exit_code == document["exit_code"] == 2
    assert document["summary"] == {"ok": 0, "warning": 0, "fault": 2}
    assert {each["code"] for each in document["findings"]} == {"configuration_invalid"}
    assert set(document["findings"][0]) == {"code", "level", "subject", "message", "remedy"}
    plain = agent("check", "--config", agent_dir.folder / "cdc.properties")
    assert plain.exit_code == 2
    assert [each["message"] in plain.errors for each in document["findings"]] == [True, True]
