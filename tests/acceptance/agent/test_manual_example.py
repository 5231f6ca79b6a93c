"""The example of Debezium's manual runs as it is; a second file says only where this place has what
it names: the node's files, a registry, and a file in place of the broker."""

import base64
import io
import json
import struct
from typing import Any

import fastavro

from tests.support.agents.agent_directory import AgentDir, payload, write_segment
from tests.support.agents.agent_thread import AgentThread
from tests.support.agents.debezium_manual import MANUAL_EXAMPLE
from tests.support.agents.running_agent import is_drained
from tests.support.sinks.fake_registry import FakeRegistry


def decoded(text: str, registry: FakeRegistry) -> Any:
    """A message in Confluent's form, by the schema that its id stands for in the registry."""
    message = base64.b64decode(text)
    number = struct.unpack(">xI", message[:5])[0]
    schema = fastavro.parse_schema(
        json.loads(registry.answer("GET", schema_path(number), b"")[1]["schema"])
    )
    return fastavro.schemaless_reader(io.BytesIO(message[5:]), schema, None)


def schema_path(number: int) -> str:
    return f"/schemas/ids/{number}"


def test_the_example_delivers(agent_dir: AgentDir) -> None:
    for number in (1, 2):
        write_segment(agent_dir.cdc_raw, number, [[payload(number, b"v%d" % number)]])
    yaml = agent_dir.folder / "cassandra.yaml"
    yaml.write_text(
        f"cluster_name: 'Orders'\ncdc_enabled: true\ncdc_raw_directory: {agent_dir.cdc_raw}\n"
        f"commitlog_directory: {agent_dir.folder}\n"
    )
    example = agent_dir.folder / "manual.properties"
    example.write_text(MANUAL_EXAMPLE.format(yaml=yaml))
    with FakeRegistry() as registry:
        place = agent_dir.folder / "place.properties"
        settings = {
            "commit.log.relocation.dir": agent_dir.relocation,
            "offset.backing.store.dir": agent_dir.offsets,
            "sink": "file",
            "file.path": agent_dir.events,
            "schema.file": agent_dir.schema,
            "key.converter.schema.registry.url": registry.url,
            "value.converter.schema.registry.url": registry.url,
        }
        place.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        files = ["--config", str(example), "--config", str(place)]
        with AgentThread(files, agent_dir.folder / "agent.log", preferred_port=0) as process:
            process.wait_until("the end of cdc_raw", lambda: is_drained(agent_dir))
            assert process.stop() == 0
        lines = [json.loads(line) for line in agent_dir.events.read_text().splitlines()]
        assert [line["topic"] for line in lines] == ["test_prefix.ks.t"] * 2
        assert set(registry.subjects) == {"test_prefix.ks.t-key", "test_prefix.ks.t-value"}
        values = [decoded(line["value"], registry) for line in lines]
    assert [value["after"]["v"]["value"] for value in values] == ["v1", "v2"]
    assert {value["source"]["cluster"] for value in values} == {"Orders"}
    log = (agent_dir.folder / "agent.log").read_text()
    for name in ("connector.name", "latest.commit.log.only"):
        assert f"`{name}` ({example}:" in log
