"""Events that are too large for a real topic or for the client arrive whole in the dead-letter
topic, or in a file if that topic rejects them."""

import random
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.support.agents.agent_directory import AgentDir, payload, write_segment
from tests.support.agents.agent_health import page
from tests.support.agents.agent_thread import running
from tests.support.agents.running_agent import is_drained
from tests.support.servers.kafka import KafkaBroker

pytestmark = pytest.mark.servers

# No codec can compress this below the limit.
LARGE = random.Random(1).randbytes(40_000).hex().encode()


SMALL = {"max.message.bytes": "10000"}
CLIENT = {"kafka.producer.max.request.size": "10000"}
SLOW = pytest.mark.slow


@pytest.mark.parametrize("dlq", ["accepts", pytest.param("rejects", marks=SLOW), "client rejects"])
def test_rejected_event_goes_to_dead_letter_topic_or_file(
    agent_dir: AgentDir, broker: KafkaBroker, topic_prefix: str, dlq: str
) -> None:
    topic, dead_letters = f"{topic_prefix}.ks.t", f"{topic_prefix}-dead-letters"
    broker.create_topic(topic, 1, {} if dlq == "client rejects" else SMALL)
    broker.create_topic(dead_letters, 1, SMALL if dlq == "rejects" else {})
    write_segment(agent_dir.cdc_raw, 1, [[payload(1, b"a"), payload(2, LARGE), payload(3, b"c")]])
    changes = {
        "topic.prefix": topic_prefix,
        "sink": "kafka",
        "file.path": None,
        "kafka.producer.bootstrap.servers": broker.bootstrap,
        "errors.deadletterqueue.topic.name": dead_letters,
        **(CLIENT if dlq == "client rejects" else {}),
    }
    error = agent_dir.relocation / "error"
    with running(agent_dir, changes) as process:
        process.wait_until("the end of cdc_raw", lambda: is_drained(agent_dir))
        metrics = page(process, "metrics")
        health = str(process.document("/health"))
        assert process.stop() == 0
    delivered = broker.consume_all(topic)
    ids = {dict(record.headers)["cdc.id"] for record in delivered}
    assert len(ids) == 2
    files: list[Path] = list(error.glob("*.events.ndjson")) if error.exists() else []
    if dlq == "accepts":
        assert files == []
        (letter,) = broker.consume_all(dead_letters)
        headers = dict(letter.headers)
        assert headers["__connect.errors.topic"].decode() == topic
        assert headers["__connect.errors.exception.class.name"].endswith(b"TooLargeException")
        assert headers["cdc.id"] not in ids
        assert after_of(orjson.loads(letter.value or b"")) == LARGE.decode()
        assert names_the_ways_on(headers["cdc.dead.letter.reason"].decode())
        assert "cdc_dead_letter_topic_events_total 1.0" in metrics
    else:
        (file,) = files
        (line,) = file.read_bytes().splitlines()
        kept = orjson.loads(line)
        assert (kept["topic"], after_of(kept["value"])) == (topic, LARGE.decode())
        assert names_the_ways_on(kept["reason"])
        assert names_the_ways_on(health)
        assert "contains its whole value" in health
        assert "cdc_dead_letter_topic_failures_total 1.0" in metrics


def after_of(value: Any) -> str:
    return str(value["after"]["v"]["value"])


def names_the_ways_on(text: str) -> bool:
    ways = ("max.message.bytes", "kafka.producer.max.request.size", "field.exclude.list")
    return all(way in text for way in ways)
