"""Oversized events as references, by a real agent with a real broker and stores."""

import os
import random
import urllib.request
from collections.abc import Mapping
from pathlib import Path

import orjson
import pytest

from examples.claim_check.resolve import ClaimError, resolve
from tests.support.agents import agent_command, running_agent
from tests.support.agents.agent_directory import AgentDir, payload, write_segment
from tests.support.agents.agent_main import agent
from tests.support.agents.agent_thread import running
from tests.support.agents.running_agent import is_drained
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.s3 import CREDENTIALS, S3Server

pytestmark = pytest.mark.servers

# Incompressible enough for any codec.
LARGE = random.Random(1).randbytes(40_000).hex().encode()
TEXTS = [b"a", LARGE, b"c", LARGE[::-1], b"e"]


def with_file(agent_dir: AgentDir) -> dict[str, str]:
    return {
        "event.oversized": "claim-check",
        "claim.check.store": f"file://{agent_dir.folder}/claims",
        "claim.check.threshold.bytes": "8000",
    }


def with_kafka(agent_dir: AgentDir, bootstrap: str, prefix: str) -> Mapping[str, str | None]:
    return {
        **with_file(agent_dir),
        "topic.prefix": prefix,
        "sink": "kafka",
        "file.path": None,
        "kafka.producer.bootstrap.servers": bootstrap,
    }


def without_override() -> list[str]:
    """Starts a command to which the modes of files apply, also as root."""
    if os.geteuid() != 0:
        return []
    return ["setpriv", "--inh-caps=-dac_override", "--bounding-set=-dac_override"]


def write_events(agent_dir: AgentDir) -> None:
    payloads = [payload(number, text) for number, text in enumerate(TEXTS)]
    write_segment(agent_dir.cdc_raw, 1, [payloads])


def objects(agent_dir: AgentDir) -> list[Path]:
    directory = agent_dir.folder / "claims"
    return sorted(directory.glob("*.json")) if directory.exists() else []


def lines(agent_dir: AgentDir) -> list[dict[str, dict[str, str]]]:
    if not agent_dir.events.exists():
        return []
    return [orjson.loads(line) for line in agent_dir.events.read_bytes().splitlines()]


def test_killed_between_store_and_topic_and_each_event_arrives_whole(
    agent_dir: AgentDir, broker: KafkaBroker, topic_prefix: str
) -> None:
    topic = f"{topic_prefix}.ks.t"
    broker.create_topic(topic, 1, {"max.message.bytes": "10000"})
    write_events(agent_dir)
    nowhere = with_kafka(agent_dir, "127.0.0.1:1", topic_prefix)
    with running_agent.running(agent_dir, nowhere) as process:
        process.wait_until("the objects", lambda: len(objects(agent_dir)) == 2)
        # Leaving the block kills it.
    stored = {file: file.read_bytes() for file in objects(agent_dir)}
    with running(agent_dir, with_kafka(agent_dir, broker.bootstrap, topic_prefix)) as process:
        process.wait_until("the end of cdc_raw", lambda: is_drained(agent_dir))
        with urllib.request.urlopen(f"{process.url}/metrics") as answer:
            metrics = answer.read().decode()
        assert process.stop() == 0
    assert {file: file.read_bytes() for file in objects(agent_dir)} == stored, "repeats are equal"
    assert "cdc_claim_check_events_total 2.0" in metrics
    assert "cdc_events_failed_total 0.0" in metrics

    records = broker.consume_all(topic)
    values = [resolve(record.value, record.headers) for record in records]
    assert [each and each["after"]["v"]["value"].encode() for each in values] == TEXTS
    assert all(each and each["cells"]["cell"] for each in values)
    assert len({dict(record.headers)["cdc.id"] for record in records}) == len(TEXTS)
    reference = orjson.loads(records[1].value or b"")
    assert (reference["op"], reference["after"], reference["cells"]) == ("i", None, None)
    assert reference["source"]["table"] == "t"
    assert [len(record.headers) for record in records] == [4, 7, 4, 7, 4]

    first = next(iter(stored))
    first.write_bytes(stored[first][:-1] + b" ")
    with pytest.raises(ClaimError, match="SHA-256"):
        for record in records:
            resolve(record.value, record.headers)


def test_events_wait_in_order_for_an_unavailable_store(agent_dir: AgentDir) -> None:
    mount = agent_dir.folder / "mount"
    changes = with_file(agent_dir) | {"claim.check.store": f"file://{mount}/claims"}
    write_events(agent_dir)
    checked = agent("check", "--config", agent_dir.configuration(changes))
    assert "mount/claims cannot be used: No such file" in " ".join(checked.output.split())
    with running(agent_dir, changes) as process:
        process.wait_until(
            "the condition", lambda: "claim_check_unavailable" in str(process.document("/health"))
        )
        assert "mount/claims" in str(process.document("/health"))
        assert lines(agent_dir) == []
        mount.mkdir()
        process.wait_until("the events", lambda: len(lines(agent_dir)) == 5)
        process.wait_until(
            "the end of the condition",
            lambda: "wait for the store" not in str(process.document("/health")),
        )
        assert process.stop() == 0
    assert ["cdc.claim.check" in line["headers"] for line in lines(agent_dir)] == [
        False,
        True,
        False,
        True,
        False,
    ]


def test_objects_in_s3(agent_dir: AgentDir, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    write_events(agent_dir)
    with S3Server() as server:
        server.create_bucket("claims")
        changes = with_file(agent_dir) | {
            "claim.check.store": "s3://claims/shop",
            "storage.s3.endpoint": server.url,
        }
        with running(agent_dir, changes) as process:
            process.wait_until("the events", lambda: len(lines(agent_dir)) == 5)
            assert process.stop() == 0

        def from_s3(url: str, max_bytes: int) -> bytes:
            return server.content("claims", url.removeprefix("s3://claims/"))[:max_bytes]

        found = []
        for line in lines(agent_dir):
            headers = [(name, text.encode()) for name, text in line["headers"].items()]
            whole = resolve(orjson.dumps(line["value"]), headers, from_s3)
            assert whole is not None
            found.append(whole["after"]["v"]["value"].encode())
    assert found == TEXTS


@pytest.mark.parametrize("converter", ["avro", "protobuf", "string"])
def test_other_converters_are_rejected(agent_dir: AgentDir, converter: str) -> None:
    changes = with_file(agent_dir) | {
        "value.converter": converter,
        "value.converter.schema.registry.url": "http://127.0.0.1:1",
    }
    if converter == "string":
        del changes["value.converter.schema.registry.url"]
    outcome = agent("run", "--config", agent_dir.configuration(changes))
    assert outcome.exit_code == 2
    text = " ".join((outcome.output + outcome.errors).split())
    assert "`event.oversized=claim-check` requires JSON values" in text


def test_store_in_cdc_raw_is_rejected(agent_dir: AgentDir) -> None:
    changes = with_file(agent_dir) | {"claim.check.store": f"file://{agent_dir.cdc_raw}/claims"}
    outcome = agent("config", "check", "--config", agent_dir.configuration(changes))
    assert outcome.exit_code == 2
    text = " ".join((outcome.output + outcome.errors).split())
    assert "claim.check.store" in text
    assert "would count as files of the node" in text


def test_check_asks_for_the_right_to_write(agent_dir: AgentDir) -> None:
    directory = agent_dir.folder / "claims"
    configuration = agent_dir.configuration(with_file(agent_dir))
    assert f"file://{directory} is available." in agent("check", "--config", configuration).output
    directory.chmod(0o500)
    denied = agent_command.agent("check", "--config", configuration, prefix=without_override())
    assert "it lacks write access." in " ".join(denied.output.split())
