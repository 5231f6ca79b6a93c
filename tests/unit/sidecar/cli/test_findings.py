"""Output of findings on terminals, in pipes and as JSON, with pending servers."""

import json
import os
import pty
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from sidecar.check.check import Check, Finding, fault, ok
from sidecar.cli.findings import check_and_exit
from sidecar.errors import ConfigError
from tests.support.agents.agent_command import AGENT
from tests.support.agents.agent_directory import AgentDir
from tests.support.servers.processes import wait_until

pytestmark = pytest.mark.heavy


@contextmanager
def silent_servers(agent_dir: AgentDir) -> Iterator[Path]:
    """A configuration whose node and broker accept connections but never answer."""
    with (
        socket.create_server(("127.0.0.1", 0)) as node,
        socket.create_server(("127.0.0.1", 0)) as broker,
    ):
        yield agent_dir.configuration(
            {
                "schema.file": None,
                "cassandra.hosts": "127.0.0.1",
                "cassandra.port": str(node.getsockname()[1]),
                "sink": "kafka",
                "file.path": None,
                "kafka.producer.bootstrap.servers": f"127.0.0.1:{broker.getsockname()[1]}",
            }
        )


def test_findings_are_printed_immediately_with_pending_servers(tmp_path: Path) -> None:
    """Findings appear in a pipe and on a terminal before the servers answer."""
    ours, theirs = pty.openpty()
    with silent_servers(AgentDir(tmp_path)) as path:
        command = [str(AGENT), "check", "--config", str(path)]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=theirs, env={**os.environ, "COLUMNS": "300"}
        ) as process:
            os.close(theirs)
            assert process.stdout is not None
            first = process.stdout.readline()
            shown = b""
            while b"waiting for the broker 127.0.0.1:" not in shown:
                shown += os.read(ours, 4096)
            is_running = process.poll() is None
            process.kill()
    os.close(ours)
    assert is_running
    assert first.startswith(b"ok       http: ")


def test_pending_servers_are_one_line_in_a_pipe(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sidecar.cli.findings._QUIET_S", 0.0)
    shown: list[str] = []

    def is_named() -> bool:
        shown.append(capsys.readouterr().err)
        return "waiting for the broker h:1 …\n" in "".join(shown)

    def wait() -> Iterator[Finding]:
        wait_until(is_named, "the line")
        yield ok("broker", "Well.")

    check: Check[None] = Check(
        "broker", lambda probe: wait(), server=lambda probe: "the broker h:1"
    )
    assert run([check], as_json=False) == 0


def run(checks: list[Check[None]], *, as_json: bool) -> int:
    with pytest.raises(SystemExit) as ended:
        check_and_exit(checks, lambda: None, as_json=as_json)
    assert isinstance(ended.value.code, int)
    return ended.value.code


BAD = fault("broker", "Away.", "Start it.", code="broker_unavailable")


@pytest.mark.parametrize(("found", "code"), [([ok("a", "Well.")], 0), ([ok("a", "Well."), BAD], 1)])
def test_findings_document_contains_findings_summary_and_exit_code(
    capsys: pytest.CaptureFixture[str], found: list[Finding], code: int
) -> None:
    assert run([Check("a", lambda probe: found)], as_json=True) == code
    document = json.loads(capsys.readouterr().out)
    well = {"code": "a_ok", "level": "ok", "subject": "a", "message": "Well.", "remedy": ""}
    away = {
        "code": "broker_unavailable",
        "level": "fault",
        "subject": "broker",
        "message": "Away.",
        "remedy": "Start it.",
    }
    assert document["findings"] == [well, away][: len(found)]
    assert document["exit_code"] == code
    assert document["summary"] == {"ok": 1, "warning": 0, "fault": code}


def test_multiline_message_is_one_line_in_a_pipe(
    capsys: pytest.CaptureFixture[str],
) -> None:
    several = fault("a", "One.\nTwo.", "Do.", code="a_b")
    assert run([Check("a", lambda probe: [several])], as_json=False) == 1
    assert capsys.readouterr().out == "fault    a: One. Two. Do.\n"


def test_closed_output_pipe_prints_no_traceback(agent_dir: AgentDir) -> None:
    """The test imitates `agent check | head -1`."""
    command = [str(AGENT), "check", "--config", str(agent_dir.configuration({}))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        errors = process.stderr.read().decode()
    assert "Traceback" not in errors


def test_configuration_errors_are_findings_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    def load() -> None:
        raise ConfigError("a: 1; 0 is the largest.", "b: missing.")

    with pytest.raises(SystemExit) as ended, suppress(ConfigError):
        check_and_exit([], load, as_json=True)
    assert ended.value.code == 2
    document = json.loads(capsys.readouterr().out)
    assert [each["message"] for each in document["findings"]] == [
        "a: 1; 0 is the largest.",
        "b: missing.",
    ]
    with pytest.raises(ConfigError):
        check_and_exit([], load, as_json=False)
