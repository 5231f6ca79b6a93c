"""Configuration errors: one clear sentence, an exit code, no traceback."""

import pytest

from sidecar.files.locks import DirectoryLock
from tests.support.agents.agent_directory import AgentDir
from tests.support.agents.agent_main import agent


@pytest.mark.parametrize("command", [("run",), (), ("config", "check")])
@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"schema.refresh.intervall.ms": "1"}, "`schema.refresh.interval.ms`"),
        ({"topic.prefix": None}, "`topic.prefix` must be set"),
        ({"http.port": "eighty"}, "`http.port`"),
        ({"cdc.raw.directory": "/none/cdc_raw"}, "/none/cdc_raw does not exist"),
        ({"offset.backing.store.dir": "/none/offsets"}, "/none/offsets does not exist"),
        ({"commit.log.relocation.dir": "/none/moved"}, "/none/moved does not exist"),
        ({"cassandra.config": "/none/cassandra.yaml"}, "/none/cassandra.yaml"),
        ({"schema.file": "/none/schema.cql"}, "/none/schema.cql"),
        (
            {"value.converter": "io.confluent.connect.avro.AvroConverter"},
            "`value.converter.schema.registry.url` must be set",
        ),
    ],
)
def test_config_error_is_one_line_with_exit_code_2(
    agent_dir: AgentDir, command: tuple[str, ...], changes: dict[str, str | None], part: str
) -> None:
    done = agent(*command, "--config", agent_dir.configuration(changes))
    assert done.exit_code == 2
    assert part in done.errors
    assert (len(done.errors.splitlines()), done.output) == (1, "")


def test_missing_configuration_file_is_reported(agent_dir: AgentDir) -> None:
    done = agent("--config", agent_dir.folder / "none.properties")
    assert done.exit_code == 2
    assert "none.properties cannot be read" in done.errors


def test_debug_option_prints_traceback(agent_dir: AgentDir) -> None:
    path = agent_dir.configuration({"http.port": "eighty"})
    assert "Traceback" in agent("--debug", "config", "check", "--config", path).errors
    assert "Traceback" not in agent("config", "check", "--config", path).errors


def test_second_agent_on_same_directories_is_rejected(agent_dir: AgentDir) -> None:
    with DirectoryLock(agent_dir.cdc_raw, agent_dir.offsets):
        done = agent("--config", agent_dir.configuration())
    assert done.exit_code == 3
    assert "is locked by" in done.errors
    assert "Traceback" not in done.errors


def test_configuration_with_warnings_is_valid(agent_dir: AgentDir) -> None:
    path = agent_dir.configuration({"connector.name": "x", "snapshot.mode": "initial"})
    done = agent("config", "check", "--config", path)
    assert (done.exit_code, done.output) == (0, "The configuration is valid.\n")
    assert "has no effect with `schema.file`" in done.errors


def test_config_show_prints_origins_and_hides_secrets(agent_dir: AgentDir) -> None:
    path = agent_dir.configuration(
        {"cassandra.username": "u", "cassandra.password": "open sesame", "sink": "stdout"}
    )
    done = agent("config", "show", "--config", path, "--set", "http.port=8123")
    assert done.exit_code == 0
    assert "http.port=8123  # command line" in done.output
    assert f"topic.prefix=demo  # {path}:1" in done.output
    assert "sesame" not in done.output + done.errors
    assert "event.cells" not in done.output
    assert (
        "event.cells=true  # default" in agent("config", "show", "--all", "--config", path).output
    )
