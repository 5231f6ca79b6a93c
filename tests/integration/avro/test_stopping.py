"""The agent stops while it waits for the registry."""

import threading

from tests.support.agents.agent_directory import AgentDir, payload, write_segment
from tests.support.agents.running_agent import DEADLINE_S, running
from tests.support.sinks.fake_registry import FakeRegistry


def test_agent_stops_despite_an_unresponsive_registry(
    agent_dir: AgentDir,
) -> None:
    """The registry's answer may take longer than the time allowed for a stop."""
    is_over = threading.Event()

    def never(method: str, subject: str) -> None:
        is_over.wait()

    write_segment(agent_dir.cdc_raw, 1, [[payload(1)]])
    with FakeRegistry(mood=never) as registry:
        settings = {"value.converter": "avro", "value.converter.request.timeout.ms": "3600000"}
        address = {"value.converter.schema.registry.url": registry.url}
        try:
            with running(agent_dir, {**settings, **address}) as process:
                process.wait_until("the question", lambda: bool(registry.requests), DEADLINE_S)
                assert process.stop() == 0
        finally:
            is_over.set()
    assert not agent_dir.events.exists() or not agent_dir.events.read_bytes()
