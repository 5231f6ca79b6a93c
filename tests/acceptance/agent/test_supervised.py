"""The agent in a container beside a node: it fails, is mended and delivers in one container."""

import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

from tests.support.agents.agent_directory import AgentDir, payload, write_segment
from tests.support.servers.processes import DEADLINE_S, free_port, wait_until


def test_a_container_outlives_the_mistakes_of_its_agent(
    agent_dir: AgentDir, tmp_path: Path
) -> None:
    write_segment(agent_dir.cdc_raw, 1, [[payload(1)]])
    port = free_port()
    mended = Path(agent_dir.configuration({"http.port": str(port), "http.host": "*"}))
    used, log = tmp_path / "used.properties", tmp_path / "log"
    # A wrong file ends the agent with exit code 2.
    used.write_text("no.such.property=1\n")
    run = "from agent.start import main; main()"
    agent = [sys.executable, "-c", run, "run", "--config", str(used)]
    command = [sys.executable, "-P", "-m", "sidecar.supervisor", "--mkdir", str(tmp_path / "made")]
    environment = os.environ | {"HTTP_PORT": str(port)}
    with log.open("w") as output:
        process = subprocess.Popen([*command, *agent], stderr=output, env=environment)
    try:
        wait_until(lambda: '"exit_code": 2' in log.read_text(), "the first end of the agent")
        used.write_text(mended.read_text())
        wait_until(agent_dir.events.exists, "an event")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/live") as answer:
            assert answer.status == 200
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE_S) == 0, log.read_text()
    finally:
        process.kill()
    assert (tmp_path / "made").is_dir()
