"""Cloudera's schema registry, which speaks Confluent's HTTP API too, as a context manager.

All of it is on Maven Central: `com.hortonworks.registries:registry-webservice` is the server,
`schema-registry-webservice` the module that it loads. It keeps schemas in memory.
"""

import json
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.support.servers.java import java
from tests.support.servers.maven import Dependency, class_path
from tests.support.servers.processes import (
    DEADLINE_S,
    Server,
    ServerProcess,
    accepts_connections,
    free_port,
    wait_until,
)

VERSION = "0.9.1"
_GROUP = "com.hortonworks.registries"
_JAVA = 17
# Hadoop brings an old JAX-RS that shadows the server's, which runs without all of it.
_EXCLUDES = ("org.apache.hadoop:*",)
_SERDES = f"{_GROUP}.schemaregistry.serdes.avro"


class SchemaRegistryServer(Server):
    """`with SchemaRegistryServer(folder) as registry:` listens on a free port of loopback.

    `kill` forgets all schemas; `start` begins anew at the same address.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory.resolve()
        self._port = free_port()
        self._process = ServerProcess(
            f"schema registry {VERSION}", ["unset"], self.directory / "registry.log"
        )

    @property
    def url(self) -> str:
        """Of the part that is compatible with Confluent's."""
        return f"{self._api}/confluent"

    def start(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        # YAML, since it holds all of JSON.
        settings = self.directory / "registry.yaml"
        settings.write_text(json.dumps(self._settings()))
        modules = ("registry-webservice", "schema-registry-webservice")
        jars = class_path(
            f"schema-registry-{VERSION}",
            [Dependency(_GROUP, module, VERSION, _EXCLUDES) for module in modules],
        )
        options = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
        main = f"{_GROUP}.webservice.RegistryApplication"
        self._process.command = [
            *(str(java(_JAVA)), *options, "-cp", f"{jars}/*"),
            *(main, "server", str(settings)),
        ]
        self._process.start()
        wait_until(
            lambda: accepts_connections("127.0.0.1", self._port),
            "the schema registry",
            process=self._process,
        )

    def schema(self, number: int) -> str:
        """The schema of an id."""
        return str(_answer(f"{self.url}/schemas/ids/{number}")["schema"])

    def versions(self, subject: str) -> list[int]:
        """Ids of a subject's schemas, the oldest first."""
        versions = f"{self.url}/subjects/{quote(subject, safe='')}/versions"
        return [int(_answer(f"{versions}/{at}")["id"]) for at in sorted(_answer(versions))]

    def allow_any(self, subject: str) -> None:
        """Versions are compared no more, which its own API says, not Confluent's."""
        _answer(
            f"{self._api}/schemaregistry/schemas/{quote(subject, safe='')}",
            {
                "type": "avro",
                "schemaGroup": "Kafka",
                "name": subject,
                "compatibility": "NONE",
                "validationLevel": "ALL",
                "evolve": True,
            },
        )

    @property
    def _api(self) -> str:
        return f"http://127.0.0.1:{self._port}/api/v1"

    def _settings(self) -> dict[str, Any]:
        def listen(port: int) -> list[dict[str, Any]]:
            return [{"type": "http", "bindHost": "127.0.0.1", "port": port}]

        avro = {
            "providerClass": f"{_GROUP}.schemaregistry.avro.AvroSchemaProvider",
            "defaultSerializerClass": f"{_SERDES}.AvroSnapshotSerializer",
            "defaultDeserializerClass": f"{_SERDES}.AvroSnapshotDeserializer",
        }
        module = {
            "name": "schema-registry",
            "className": f"{_GROUP}.schemaregistry.webservice.SchemaRegistryModule",
            "config": {
                "schemaProviders": [avro],
                "schemaCacheSize": 10_000,
                "schemaCacheExpiryInterval": 3600,
            },
        }
        return {
            "modules": [module],
            "fileStorageConfiguration": {
                "className": f"{_GROUP}.common.util.LocalFileSystemStorage",
                "properties": {"directory": str(self.directory / "files")},
            },
            "storageProviderConfiguration": {
                "providerClass": f"{_GROUP}.storage.impl.memory.InMemoryStorageManager"
            },
            "swagger": {"resourcePackage": f"{_GROUP}.schemaregistry.webservice"},
            "enableCors": False,
            "server": {"applicationConnectors": listen(self._port), "adminConnectors": listen(0)},
            "logging": {"level": "WARN"},
        }


def _answer(url: str, document: dict[str, Any] | None = None) -> Any:
    body = None if document is None else json.dumps(document).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=DEADLINE_S) as answer:
        return json.load(answer)
