"""A limit on the number of collections, at a start."""

import pytest

from sidecar.errors import ConfigError
from tests.support.mongodb.running_agent import RunAgent
from tests.support.mongodb.server.client import Client


def test_it_ends_the_agent_or_warns(
    writer: Client, run_agent: RunAgent, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("a", "b", "c"):
        writer.shop[name].insert_one({"_id": 1})
    most = {"guardrail_collections_max": 2}
    with run_agent(**most, guardrail_collections_limit_action="fail") as agent:
        error = agent.wait_until_ended()
    assert isinstance(error, ConfigError)
    assert "The agent captures 3 collections; `guardrail.collections.max=2`" in str(error)
    caplog.clear()
    with run_agent(**most).streaming() as agent:
        writer.shop.d.insert_one({"_id": 1})
        agent.wait_for(1)
    assert "`guardrail.collections.max=2` allows fewer" in caplog.text
    caplog.clear()
    with run_agent(**most, collection_include_list="shop[.]a,shop[.]b") as agent:
        agent.wait_until_streaming()
    assert "guardrail" not in caplog.text
