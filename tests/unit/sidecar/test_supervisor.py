"""The supervisor restarts an agent beside a database; the container survives agent failures."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from sidecar.supervisor import Pace
from tests.support.agents.fake_agents import fake_agents
from tests.support.servers.processes import wait_until

# Real pauses last seconds; the tests wait for events, not for a time.
FAST = {"first_pause_s": 0.01, "longest_pause_s": 0.02, "live_every_s": 0.02}
AGENT = """
    import os, pathlib, signal, sys, time
    log = pathlib.Path(sys.argv[1])
    def note(text):
        with log.open("a") as file:
            file.write(text + "\\n")
    starts = log.read_text().count("started") if log.exists() else 0
    {body}
"""


def agent(body: str) -> str:
    return textwrap.dedent(AGENT).format(body=body)


FAILS_TWICE = agent(
    "note('started'); sys.exit(4) if starts < 2 else None\n"
    # The signal is awaited, not handled: a handler misses a signal just before `pause`.
    "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\n"
    "print('ready', flush=True)\n"
    "signal.sigwait([signal.SIGTERM])\n"
    "note('stopped'); sys.exit(7)"
)
IGNORES_TERM = agent(
    "signal.signal(signal.SIGTERM, signal.SIG_IGN) if starts == 0 else None\n"
    "note('started'); print('ready', flush=True) if starts else None\n"
    "while True: signal.pause()"
)


@contextmanager
def supervised(
    tmp_path: Path, code: str, is_live: str = "lambda: True", **pace: float
) -> Iterator[subprocess.Popen[str]]:
    """Run a supervisor of an agent with this code in a separate process. Without `is_live` the
    supervisor probes HTTP_PORT."""
    script = tmp_path / "agent.py"
    script.write_text(code)
    command = [sys.executable, str(script), str(tmp_path / "log")]
    text = (
        "import os, sys; from sidecar.supervisor import Pace, Supervisor; "
        f"sys.exit(Supervisor({command!r}, Pace(**{FAST | pace!r}), {is_live}).run())"
    )
    with run([sys.executable, "-c", text]) as process:
        yield process


@contextmanager
def run(command: Sequence[str], **environment: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def read_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def stop(process: subprocess.Popen[str]) -> str:
    """Send SIGTERM and return the standard error output."""
    process.send_signal(signal.SIGTERM)
    return process.communicate()[1]


def test_failing_agent_is_restarted_until_stopped(tmp_path: Path) -> None:
    with supervised(tmp_path, FAILS_TWICE) as process:
        assert read_line(process) == "ready"
        errors = stop(process)
    assert process.returncode == 7
    assert (tmp_path / "log").read_text().split() == ["started"] * 3 + ["stopped"]
    assert errors.count("the agent exited and will be restarted") == 2


@pytest.mark.parametrize("answer", ["False", "None"], ids=["not live", "no answer any more"])
def test_hanging_agent_is_killed_and_restarted(tmp_path: Path, answer: str) -> None:
    """The agent ignores SIGTERM. The first agent is live for one check after its first line."""
    log, seen = tmp_path / "log", tmp_path / "seen"
    log.touch()
    starts = f"open({str(log)!r}).read().count('started')"
    first = f"(not os.path.exists({str(seen)!r}) and not open({str(seen)!r}, 'w').close())"
    is_live = f"lambda: True if {starts} != 1 or {first} else {answer}"
    with supervised(tmp_path, IGNORES_TERM, is_live, live_failures=3, kill_after_s=0.1) as process:
        assert read_line(process) == "ready"
        errors = stop(process)
    assert process.returncode == 128 + signal.SIGTERM
    assert "the agent is not live and will be restarted" in errors
    assert log.read_text().split() == ["started"] * 2


def test_agent_without_liveness_answer_is_not_restarted(tmp_path: Path) -> None:
    """`http.port` may differ from HTTP_PORT."""
    checks = tmp_path / "checks"
    text = agent(
        "note('started')\n"
        f"while not pathlib.Path({str(checks)!r}).exists(): time.sleep(0.01)\n"
        f"while len(pathlib.Path({str(checks)!r}).read_text()) < 9: time.sleep(0.01)\n"
        "print('ready', flush=True); signal.pause()"
    )
    is_live = f"lambda: open({str(checks)!r}, 'a').write('x') and None"
    with supervised(tmp_path, text, is_live, live_failures=2) as process:
        assert read_line(process) == "ready"
        stop(process)
    assert (tmp_path / "log").read_text().split() == ["started"]


def test_wrong_http_port_ends_neither_agent_nor_supervisor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HTTP_PORT belongs to the database beside the agent, which does not speak HTTP."""
    text = agent("note('started'); print('ready', flush=True); signal.pause()")
    with fake_agents([b"\x04\x00\x00\x00 not HTTP\r\n"]) as (database,):
        monkeypatch.setenv("HTTP_PORT", str(database.port))
        with supervised(tmp_path, text, "", live_failures=2) as process:
            assert read_line(process) == "ready"
            wait_until(lambda: len(database.requests) > 4, "checks")
            stop(process)
    assert process.returncode == 128 + signal.SIGTERM
    assert (tmp_path / "log").read_text().split() == ["started"]


def test_stop_ends_the_restart_pause(tmp_path: Path) -> None:
    text = agent("note('started'); sys.exit(3)")
    with supervised(tmp_path, text, first_pause_s=3600.0, longest_pause_s=3600.0) as process:
        assert process.stderr is not None
        assert "will be restarted" in process.stderr.readline()
        stop(process)
    assert process.returncode == 3


def test_missing_command_is_logged_and_retried() -> None:
    with run([sys.executable, "-m", "sidecar.supervisor", "/nope"]) as process:
        assert process.stderr is not None
        lines = [json.loads(process.stderr.readline()) for _ in range(2)]
        stop(process)
    assert lines[0]["message"] == "the agent cannot be started"
    assert "/nope" in lines[0]["error"] or "No such file" in lines[0]["error"]
    assert (lines[1]["level"], lines[1]["exit_code"]) == ("error", 2)


@pytest.mark.parametrize(("index", "runs"), [("0", True), ("1", False), ("", False)])
def test_only_pod_with_index_runs_the_agent(index: str, runs: bool) -> None:
    command = [sys.executable, "-m", "sidecar.supervisor", "--only-pod-index", "0", sys.executable]
    script = "import signal; print('ready', flush=True); signal.pause()"
    with run([*command, "-c", script], POD_INDEX=index) as process:
        if runs:
            assert read_line(process) == "ready"
        else:
            assert process.stderr is not None
            line = json.loads(process.stderr.readline())
            assert (line["message"], line["agent_in"]) == ("this pod runs no agent", "0")
        stop(process)
    assert process.returncode == (128 + signal.SIGTERM if runs else 0)


def test_supervisor_creates_directories_of_the_agent(tmp_path: Path) -> None:
    made, blocked = tmp_path / "a" / "offsets", tmp_path / "file" / "offsets"
    (tmp_path / "file").touch()
    options = ["--mkdir", str(made), "--mkdir", str(blocked)]
    script = f"import os; print(oct(os.stat({str(made)!r}).st_mode), flush=True)"
    command = [sys.executable, "-m", "sidecar.supervisor", *options, sys.executable, "-c", script]
    with run(command) as process:
        assert read_line(process) == "0o40750"
        errors = stop(process)
    line = json.loads(errors.splitlines()[0])
    assert (line["message"], line["directory"]) == ("the directory cannot be created", str(blocked))


@pytest.mark.parametrize("arguments", [[], ["--only-pod-index"], ["--only-pod-index", "0"]])
def test_supervisor_without_command_prints_usage(arguments: list[str]) -> None:
    with run([sys.executable, "-m", "sidecar.supervisor", *arguments]) as process:
        _, errors = process.communicate()
    assert process.returncode == 2
    assert errors.startswith("usage: python -m sidecar.supervisor")


def test_default_pace_tolerates_short_liveness_failures() -> None:
    pace = Pace()
    assert pace.live_every_s * pace.live_failures >= 120
    assert pace.kill_after_s > 20 + 10
