"""Both agents as services of an installed package: their input and expected work."""

import shutil
from abc import ABC, abstractmethod
from pathlib import Path

from examples.quickstart.demo import RECORDING, unpack
from tests.integration.packages.machine import Machine, PackageError
from tests.support.servers.processes import wait_until

_HEALTH = "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/live')"


class Service(ABC):
    """Unit of an agent, inside a machine."""

    name: str
    command: str
    user: str
    properties: str

    @property
    def package(self) -> str:
        return f"cdc-sidecar-{self.name}"

    @property
    def home(self) -> str:
        return f"/opt/cdc-sidecar/{self.name}"

    @property
    def state(self) -> str:
        return f"/var/lib/{self.package}"

    @property
    def configuration(self) -> str:
        return f"/etc/cdc-sidecar/{self.properties}"

    @abstractmethod
    def prepare(self, machine: Machine) -> str:
        """Prepare the machine and return the text of the configuration."""

    @abstractmethod
    def work(self, machine: Machine) -> str:
        """Wait until the running agent has done its work; returns a description, equal for equal
        work."""

    def wait_until_alive(self, machine: Machine) -> None:
        """Wait for an answer of `/live`. The container has no other HTTP client."""

        def is_alive() -> bool:
            state = machine.service(self.package, "ActiveState")
            if state == "failed":
                raise PackageError(f"{self.package} failed: {self.journal(machine)}")
            asked = machine.attempt(f"{self.home}/bin/python3", "-I", "-c", _HEALTH)
            return asked.returncode == 0

        wait_until(is_alive, f"the service {self.package}")

    def journal(self, machine: Machine) -> str:
        return machine.run("journalctl", "--no-pager", "--lines=40", f"--unit={self.package}")


class Cassandra(Service):
    """With the recorded `cdc_raw` of the demo, archived within the node's directory."""

    name = "cassandra"
    command = "agent"
    user = "cassandra"
    properties = "cdc.properties"

    def prepare(self, machine: Machine) -> str:
        data = machine.root / "var" / "lib" / "cassandra"
        unpack(RECORDING, data)
        for unused in ("offsets", "relocation"):
            (data / unused).rmdir()
        shutil.copy(RECORDING.with_name("schema.cql"), machine.root / "etc" / "cdc-sidecar")
        machine.run("chown", "-R", "cassandra:cassandra", "/var/lib/cassandra")
        return "\n".join(
            [
                "topic.prefix=packaged",
                "sink=file",
                f"file.path={self.state}/events.ndjson",
                "schema.file=/etc/cdc-sidecar/schema.cql",
                "node.id=node-1",
                "cdc.raw.directory=/var/lib/cassandra/cdc_raw",
                "commit.log.relocation.dir=/var/lib/cassandra/cdc_relocation",
                "commit.log.transfer.class=archive",
                f"offset.backing.store.dir={self.state}",
            ]
        )

    def work(self, machine: Machine) -> str:
        raw = machine.root / "var" / "lib" / "cassandra" / "cdc_raw"
        wait_until(lambda: not any(raw.glob("*.log")), "an empty cdc_raw")
        archive = raw.parent / "cdc_relocation" / "archive"
        segments = len(list(archive.glob("*.log")))
        return f"{lines(machine, f'{self.state}/events.ndjson')} events of {segments} segments"


class Mongo(Service):
    """Without a server: the agent waits and stays alive."""

    name = "mongo"
    command = "mongo-agent"
    user = "cdc-sidecar"
    properties = "mongo.properties"

    def prepare(self, machine: Machine) -> str:
        return "\n".join(
            [
                "topic.prefix=packaged",
                "sink=file",
                f"file.path={self.state}/events.ndjson",
                "mongodb.hosts=rs0/127.0.0.1:9",
                f"offset.backing.store.dir={self.state}",
            ]
        )

    def work(self, machine: Machine) -> str:
        return "waiting for a server"


def lines(machine: Machine, path: str) -> int:
    return (machine.root / Path(path).relative_to("/")).read_bytes().count(b"\n")
