"""What other users see of the agent's process, which modules they can make it import, and that a
crash leaves no core file with passwords and rows."""

import os
import re
import resource
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent.config.loader import load_config
from sidecar.process.privacy import safe_path
from tests.support.agents.agent_directory import AgentDir
from tests.support.agents.minimal_configuration import minimal_configuration
from tests.support.servers.processes import free_port, wait_until

ROOT = Path(__file__).parents[3]
PASSWORD = "s3cret-of-agent"
SLOW = pytest.mark.slow
_SASL = ("security.protocol=SASL_SSL", "sasl.mechanism=PLAIN")
_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


@pytest.mark.parametrize(
    "assignment",
    [
        f"cassandra.password={PASSWORD}",
        f"kafka.producer.ssl.key.password={PASSWORD}",
        f"kafka.producer.sasl.jaas.config={_LOGIN} required username='u' password='{PASSWORD}';",
    ],
)
def test_secret_on_the_command_line_is_a_warning(tmp_path: Path, assignment: str) -> None:
    """`ps` shows the command line to every user."""
    overrides = [assignment]
    if assignment.startswith("cassandra"):
        overrides.append("cassandra.username=agent")
    if "jaas" in assignment:
        overrides += [f"kafka.producer.{name}" for name in _SASL]
    loaded = load_config([minimal_configuration(tmp_path, {})], overrides).loaded
    (found,) = [each for each in loaded.warnings if "process list" in each]
    assert assignment.partition("=")[0] in found
    assert PASSWORD not in found


def test_secret_reference_on_the_command_line_is_accepted(tmp_path: Path) -> None:
    overrides = ["cassandra.password=${env:CDC_TEST_PASSWORD}", "cassandra.username=agent"]
    environment = {"CDC_TEST_PASSWORD": PASSWORD}
    loaded = load_config(
        [minimal_configuration(tmp_path, {})], overrides, environment=environment
    ).loaded
    assert not [each for each in loaded.warnings if "process list" in each]


def test_process_forbids_core_dumps_and_keeps_working(tmp_path: Path) -> None:
    program = (
        "import ctypes, os\n"
        "from sidecar.process.privacy import forbid_dumps\n"
        "assert forbid_dumps()\n"
        "assert ctypes.CDLL(None).prctl(3, 0, 0, 0, 0) == 0\n"
        # The agent reads these files of its own process for TLS stores and metrics.
        "assert os.listdir('/proc/self/fd')\n"
        "with open(os.memfd_create('x')) as file: open(f'/proc/self/fd/{file.fileno()}').close()\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)


def test_import_path_excludes_the_working_directory() -> None:
    path = ["", "/tmp/shared", "/usr/lib/python3"]
    assert safe_path(path, "/tmp/shared", ["", "/opt/agent"]) == ["/usr/lib/python3"]
    assert safe_path([".", *path], "/tmp/shared", ["."]) == ["/usr/lib/python3"]
    # An explicit entry is intended.
    named = safe_path(path, "/tmp/shared", ["/tmp/shared/"])
    assert named == ["/tmp/shared", "/usr/lib/python3"]


@pytest.mark.parametrize(
    "python_path", [":", pytest.param(None, marks=SLOW), pytest.param("/opt/none:", marks=SLOW)]
)
def test_agent_runs_in_an_editable_checkout(python_path: str | None) -> None:
    """Runs the console scripts with the repository as working directory."""
    for name in ("agent", "mongo-agent"):
        done = subprocess.run(
            [Path(sys.executable).with_name(name), "--help"],
            env={"PATH": "/usr/bin:/bin", **({"PYTHONPATH": python_path} if python_path else {})},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("module", ["json", "flask", "confluent_kafka"])
def test_planted_module_in_the_working_directory_is_not_imported(
    tmp_path: Path, module: str
) -> None:
    """An empty entry of PYTHONPATH, as in `PYTHONPATH=$PYTHONPATH:…`, is that directory."""
    (tmp_path / f"{module}.py").write_text("raise SystemExit('planted code ran')\n")
    program = "from agent.start import main\nimport sys\nsys.argv = ['agent', '--help']\nmain()"
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        env={"PYTHONPATH": f":{ROOT}", "PATH": "/usr/bin:/bin"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert "planted" not in done.stderr
    assert done.returncode == 0, done.stderr


def test_config_errors_hide_secrets(tmp_path: Path) -> None:
    """The traceback of `--debug` hides secrets, too."""
    path = minimal_configuration(tmp_path, {})
    path.write_text(
        f"{path.read_text()}cassandra.password={PASSWORD}\nno.such.property=1\n"
        f"kafka.producer.ssl.key.password={PASSWORD}\n"
    )
    for command in ("check", "show"):
        program = (
            "from agent.start import main\nimport sys\n"
            f"sys.argv = ['agent', '--debug', 'config', {command!r}, '--config', {str(path)!r}]\n"
            "main()"
        )
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True
        )
        assert done.returncode != 0
        assert PASSWORD not in done.stdout + done.stderr
        assert not re.search(r"s3cret", done.stdout + done.stderr)


MANY = 1 << 30


def allow_core_files() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (MANY, MANY))


@contextmanager
def started(command: Sequence[str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=allow_core_files,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def leaves_a_core_file(process: subprocess.Popen[bytes]) -> bool:
    process.send_signal(signal.SIGSEGV)
    _, status = os.waitpid(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert os.WIFSIGNALED(status)
    return os.WCOREDUMP(status)


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/ping") as reply:
            return bool(reply.read() == b"pong")
    except urllib.error.URLError:
        return False


@pytest.mark.parametrize("is_debug", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_crashed_agent_leaves_no_core_file(tmp_path: Path, *, is_debug: bool) -> None:
    """Only `--debug` allows a core file, on machines that write core files."""
    folder = tmp_path / "agent_dir"
    folder.mkdir()
    agent_dir, port = AgentDir(folder), free_port()
    configuration = agent_dir.configuration({"http.port": str(port)})
    program = str(Path(sys.executable).with_name("agent"))
    options = ["--debug"] if is_debug else []
    command = [program, *options, "run", "--config", str(configuration)]
    with started(command, tmp_path) as agent, started(["sleep", "600"], tmp_path) as other:
        wait_until(lambda: answers(port), "the agent")
        writes_any = leaves_a_core_file(other)
        assert leaves_a_core_file(agent) == (is_debug and writes_any)
