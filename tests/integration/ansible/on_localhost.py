"""The playbook on three hosts: directories of this machine with one agent each."""

import getpass
import grp
import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from examples.quickstart.demo import RECORDING, unpack
from tests.integration.ansible.agent_wheel import write_wheel
from tests.support.servers.processes import free_port, wait_until

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "ansible"
QUICKSTART = ROOT / "examples" / "quickstart"
CANARY, *OTHERS = HOSTS = ("canary-1", "node-2", "node-3")
_SERVICE = """#!/bin/sh
# Stands in for systemctl: `service stop|restart`.
cd {folder} || exit 1
if [ -f pid ]; then
    kill "$(cat pid)" 2>/dev/null
    while kill -0 "$(cat pid)" 2>/dev/null; do sleep 0.1; done
    rm -f pid
fi
[ "$1" = stop ] && exit 0
nohup ./opt/agent/bin/agent --config etc/cdc.properties >>agent.log 2>&1 &
echo $! >pid
"""


@dataclass(frozen=True)
class Host:
    """One host, with its directories in `folder`."""

    name: str
    folder: Path
    port: int

    @classmethod
    def make(cls, name: str, folder: Path) -> "Host":
        """Host with a recorded `cdc_raw` and a `cassandra.yaml`."""
        unpack(ROOT / RECORDING, folder)
        node = yaml.safe_load((QUICKSTART / "cassandra.yaml").read_text())
        node["cdc_raw_directory"] = str(folder / "cdc_raw")
        (folder / "cassandra.yaml").write_text(yaml.safe_dump(node))
        service = folder / "service"
        service.write_text(_SERVICE.format(folder=folder))
        service.chmod(0o755)
        return cls(name, folder, free_port())

    def variables(self) -> dict[str, Any]:
        group = grp.getgrgid(os.getgid()).gr_name
        return {
            "ansible_connection": "local",
            "ansible_python_interpreter": sys.executable,
            "cdc_sidecar_become": False,
            "cdc_sidecar_method": "wheel",
            "cdc_sidecar_python": sys.executable,
            "cdc_sidecar_pip_arguments": "--quiet --no-index --no-deps",
            "cdc_sidecar_manage_unit": False,
            "cdc_sidecar_owner": getpass.getuser(),
            "cdc_sidecar_user": getpass.getuser(),
            "cdc_sidecar_group": group,
            "cdc_sidecar_home": str(self.folder / "opt" / "agent"),
            "cdc_sidecar_configuration": str(self.folder / "etc" / "cdc.properties"),
            "cdc_sidecar_state": str(self.folder / "offsets"),
            "cdc_sidecar_relocation": str(self.folder / "relocation"),
            "cdc_sidecar_restart_command": f"{self.folder / 'service'} restart",
            "cdc_sidecar_stop_command": f"{self.folder / 'service'} stop",
            "cdc_sidecar_topic_prefix": "shop",
            "cdc_sidecar_cassandra_yaml": str(self.folder / "cassandra.yaml"),
            "cdc_sidecar_http_port": self.port,
            "cdc_sidecar_health_interval_s": 1,
            "cdc_sidecar_settle_s": 3,
            "cdc_sidecar_properties": {
                "sink": "file",
                "file.path": str(self.folder / "events.ndjson"),
                "schema.file": str(QUICKSTART / "schema.cql"),
                "node.id": self.name,
                "cluster.name": "quickstart",
            },
        }

    @property
    def version(self) -> str:
        """Version of the wheel in the running environment; empty without one."""
        home = self.folder / "opt" / "agent"
        found = [path.name for path in home.glob("lib/python*/site-packages/*.dist-info")]
        versions = [name.split("-")[1] for name in found if name.startswith("cdc_sidecar")]
        return versions[0].removesuffix(".dist") if versions else ""

    @property
    def pid(self) -> int | None:
        path = self.folder / "pid"
        return int(path.read_text()) if path.exists() else None

    def health(self) -> dict[str, Any]:
        """`/health`; empty while the agent does not answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health") as got:
                return dict(json.load(got))
        except urllib.error.HTTPError as error:
            with error:
                return dict(json.load(error))
        except OSError:
            return {}

    def has_all_events(self) -> bool:
        path = self.folder / "events.ndjson"
        return path.exists() and path.read_bytes().count(b"\n") > 800


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[dict[str, Host]]:
    found = {name: Host.make(name, tmp_path / name) for name in HOSTS}
    for host in found.values():
        (host.folder / "opt").mkdir()
    yield found
    for host in found.values():
        if host.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(host.pid, signal.SIGTERM)


def roll_out(
    hosts: Mapping[str, Host], tmp_path: Path, wheel: Path, **variables: object
) -> subprocess.CompletedProcess[str]:
    """Run the playbook."""
    inventory = {
        "canary": {"hosts": {CANARY: hosts[CANARY].variables()}},
        "others": {"hosts": {name: hosts[name].variables() for name in OTHERS}},
    }
    path = tmp_path / "inventory.yml"
    path.write_text(yaml.safe_dump({"all": {"children": inventory}}))
    program = Path(sys.prefix) / "ansible" / "bin" / "ansible-playbook"
    given = json.dumps({"cdc_sidecar_wheel": str(wheel), **variables})
    return subprocess.run(
        [program, "-i", path, "site.yml", "-e", given],
        cwd=EXAMPLE,
        env=os.environ | {"ANSIBLE_CONFIG": str(EXAMPLE / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_rollout_stops_at_an_unhealthy_canary(hosts: dict[str, Host], tmp_path: Path) -> None:
    good = write_wheel(tmp_path, "1.0.0")
    done = roll_out(hosts, tmp_path, good)
    assert done.returncode == 0, done.stdout + done.stderr
    for host in hosts.values():
        assert host.version == "1.0.0"
        wait_until(host.has_all_events, "all events")
        assert host.health()["status"] == "ok"
    # The canary was healthy before the playbook changed the next host.
    order = done.stdout
    assert order.index(f"[{CANARY}]") < order.index("[node-2]") < order.index("[node-3]")

    before = {name: host.pid for name, host in hosts.items()}
    sick = write_wheel(tmp_path, "1.1.0", [f"cdc.raw.directory={tmp_path / 'nowhere'}"])
    done = roll_out(hosts, tmp_path, sick, cdc_sidecar_health_deadline_s=10)
    assert done.returncode != 0
    assert "No further host is changed." in done.stdout
    assert "node-2" not in done.stdout.split("PLAY RECAP")[0]
    for name in OTHERS:
        assert hosts[name].pid == before[name], "an agent was restarted"
        assert hosts[name].version == "1.0.0"
    canary = hosts[CANARY]
    assert canary.version == "1.0.0"
    assert canary.pid != before[CANARY]
    wait_until(lambda: canary.health().get("status") == "ok", "the canary to be healthy again")

    mended = write_wheel(tmp_path, "1.1.1")
    done = roll_out(hosts, tmp_path, mended)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {host.version for host in hosts.values()} == {"1.1.1"}


def test_invalid_property_stops_rollout_before_a_restart(
    hosts: dict[str, Host], tmp_path: Path
) -> None:
    good = write_wheel(tmp_path, "1.0.0")
    assert roll_out(hosts, tmp_path, good).returncode == 0
    before = {name: host.pid for name, host in hosts.items()}
    properties = {**hosts[CANARY].variables()["cdc_sidecar_properties"], "snapshot.mod": "never"}
    done = roll_out(hosts, tmp_path, good, cdc_sidecar_properties=properties)
    assert done.returncode != 0
    assert "snapshot.mode" in done.stdout, "the nearest property is named"
    assert {name: host.pid for name, host in hosts.items()} == before, "an agent was restarted"
    assert hosts[CANARY].health()["status"] == "ok"


def test_playbook_checks_but_keeps_cassandra_yaml(hosts: dict[str, Host], tmp_path: Path) -> None:
    path = hosts[CANARY].folder / "cassandra.yaml"
    node = yaml.safe_load(path.read_text())
    node["cdc_enabled"] = False
    path.write_text(yaml.safe_dump(node))
    text = path.read_text()
    done = roll_out(hosts, tmp_path, write_wheel(tmp_path, "1.0.0"))
    assert done.returncode != 0
    assert "cdc_enabled" in done.stdout
    assert path.read_text() == text
    assert all(host.pid is None for host in hosts.values())
